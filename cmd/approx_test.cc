// //cmd:approx as its users call it; and, as it is the smallest command, what all commands share.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("every function answers a request with an error that the measurement confirms") {
  for (const auto& [request, error] :
       std::vector<std::pair<std::string, double>>{{"inverse --min 1e-3 --max 8 --bits 12", 0x1p-12},
                                                   {"inverse_sqrt --min 1e-2 --max 2 --bits 12", 0x1p-12},
                                                   {"sigmoid --radius 8 --bits 10", 0x1p-10},
                                                   {"gelu --radius 6 --bits 10", 0x1p-10},
                                                   {"gelu_erf --radius 6 --bits 10", 0x1p-10},
                                                   {"silu --radius 10 --bits 10", 0x1p-10},
                                                   {"exp --min -8 --max 0 --bits 12", 0x1p-12},
                                                   {"abs --radius 4 --bits 4.3", 0.0508}}) {
    CAPTURE(request);
    const Json json = figures_of("approx " + request + " --points 4000 --seed 7");
    const double bound = number_in(json, "error_bound"), worst = number_in(json, "measured", "worst_error");
    CHECK(bound <= error);
    CHECK(worst <= bound);
    CHECK(worst > 0.1 * bound);
    CHECK(number_in(json, "measured", "program_difference") < 1e-12);
    CHECK(number_in(json, "measured", "largest_output") <= 1 + bound);
    const std::string said = read_file(path_of("out"), 1 << 16);
    CHECK(contains(said, json.at("method", "json").string("method")));
  }
}

TEST_CASE("--paper is the plain iteration; else 1/sqrt(x) is a series") {
  CHECK(number_in(figures_of("approx inverse --min 1e-3 --max 1 --paper --points 100"), "levels") == 14);
  const std::string root = "approx inverse_sqrt --max 1 --points 1000 --min ";
  CHECK(contains(figures_of(root + "1e-3 --paper").at("method", "json").string("method"), "iterations"));
  const Json json = figures_of(root + "1e-2");
  CHECK(number_in(json, "levels") == 6);
  CHECK(json.at("chebyshev_series", "json").array("series").size() == 1);
  check_refused("approx gelu --paper", "not for gelu; leave it out");
}

TEST_CASE("what cannot be answered is refused in one line") {
  check_refused("approx tangent", "there is no function 'tangent'");
  check_refused("approx inverse --min 0", "reaches zero");
  check_refused("approx inverse --min 1e-300 --max 1e300", "beyond what double precision resolves");
  check_refused("approx exp --min -1e5", "beyond double precision");
}

TEST_CASE(
    "a plot is an SVG file, and a name that says something else is refused before anything is computed") {
  const std::string sigmoid = "approx sigmoid --radius 4 --bits 8 --points 100 --plot ",
                    plot = path_of("plot");
  output_of(sigmoid + plot + ".svg");
  const std::string drawn = read_file(plot + ".svg", 1 << 20);
  CHECK(drawn.starts_with("<svg"));
  CHECK(contains(drawn, "proven bound"));
  check_refused(sigmoid + plot + ".png", "plot.png does not end in .svg");
  CHECK_FALSE(std::filesystem::exists(plot + ".png"));
}

TEST_CASE("every command knows the version, which is MODULE.bazel's") {
  const std::string said = output_of("approx --version");
  REQUIRE(said.starts_with("powersoftmax "));
  const std::string version = said.substr(13, said.size() - 14);
  CHECK(said == "powersoftmax " + version + "\n");
  CHECK(read_file(runfile("MODULE.bazel"), 1 << 16)
            .find("name = \"powersoftmax\", version = \"" + version + "\"") != std::string::npos);
}

}  // namespace
}  // namespace psm::cmd
