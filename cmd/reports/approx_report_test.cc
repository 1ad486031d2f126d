#include "cmd/reports/approx_report.h"

#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check.h"

namespace psm::cmd {
namespace {

struct Request {
  std::string function;
  approx::Interval domain;
  double error;
};

TEST_CASE("every function answers a request with an error that the measurement confirms") {
  for (const Request& r :
       {Request{"inverse", {1e-3, 8}, 0x1p-12}, Request{"inverse_sqrt", {1e-2, 2}, 0x1p-12},
        Request{"sigmoid", {-8, 8}, 1e-3}, Request{"gelu", {-6, 6}, 1e-3}, Request{"gelu_erf", {-6, 6}, 1e-3},
        Request{"silu", {-10, 10}, 1e-3}, Request{"exp", {-8, 0}, 0x1p-12}, Request{"abs", {-4, 4}, 0.05}}) {
    CAPTURE(r.function);
    const std::vector<approx::Approximation> found = find_approximations(r.function, r.domain, r.error);
    REQUIRE_FALSE(found.empty());
    CHECK(found.front().error_bound() <= r.error);
    const ApproxMeasurement m = measure(found.front(), 4000, 7);
    CHECK(m.worst_error <= found.front().error_bound());
    CHECK(m.worst_error > 0.1 * found.front().error_bound());
    CHECK(m.program_difference < 1e-12);
    CHECK(m.largest_output <= 1 + found.front().error_bound());
    CHECK(approx_figures(found, m).lines().find(found.front().method()) != std::string::npos);
    CHECK(plot_svg(found.front()).find("proven bound") != std::string::npos);
  }
}

TEST_CASE("--paper is the plain iteration") {
  CHECK(find_approximations("inverse", {1e-3, 1}, 0x1p-12, true).front().depth() == 14);
  CHECK(find_approximations("inverse_sqrt", {1e-3, 1}, 0x1p-12, true).size() == 1);
  CHECK_REFUSED(find_approximations("gelu", {1e-3, 1}, 0x1p-12, true), "not for gelu; leave it out");
}

TEST_CASE("the report as JSON holds the certificate, the measurement and the other methods") {
  const std::vector<approx::Approximation> found = find_approximations("inverse_sqrt", {1e-2, 1}, 0x1p-12);
  const Json json =
      parse_json(approx_figures(found, measure(found.front(), 1000, 1)).object().dump(), "report");
  CHECK(json.at("levels", "report").integer("levels", 0, 100) == 6);
  CHECK(json.at("error_bound", "report").number("bound") <= 0x1p-12);
  CHECK(json.at("measured", "report").at("worst_error", "report").number("worst") <= 0x1p-12);
  CHECK(json.at("other_methods", "report").array("others").size() == 3);
  CHECK(json.at("chebyshev_series", "report").array("series").size() == 1);
}

TEST_CASE("what cannot be answered is refused in one line") {
  CHECK_THROWS_AS(domain_shape("tangent"), Error);
  CHECK_THROWS_AS(find_approximations("inverse", {0, 1}, 1e-3), Error);
  CHECK_REFUSED(find_approximations("inverse", {1e-300, 1e300}, 1e-3),
                "beyond what double precision resolves");
  CHECK_REFUSED(find_approximations("exp", {-1e5, 0}, 1e-3), "beyond double precision");
}

}  // namespace
}  // namespace psm::cmd
