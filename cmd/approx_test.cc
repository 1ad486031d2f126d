// //cmd:approx as its users call it; and, as it is the smallest command, what all commands share.
#include <filesystem>
#include <string>

#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE(
    "a plot is an SVG file, and a name that says something else is refused before anything is computed") {
  const std::string sigmoid = "approx sigmoid --radius 4 --bits 8 --points 100 --plot ",
                    plot = path_of("plot");
  output_of(sigmoid + plot + ".svg");
  CHECK(read_file(plot + ".svg", 1 << 20).starts_with("<svg"));
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
