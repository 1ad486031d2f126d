// bazel run //cmd:approx -- FUNCTION [flags]: fits a function as a slot program and prints its certificate.
#include <cmath>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/reports/approx_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

int approx(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:approx -- FUNCTION [flags]",
      "Approximates a function by a polynomial that runs on encrypted slots, and proves its error.\n\n"
      "For example:\n"
      "  bazel run //cmd:approx -- inverse --min 1e-3 --max 8 --bits 12\n"
      "  bazel run //cmd:approx -- inverse --min 1e-3 --max 1 --bits 12 --paper\n"
      "  bazel run //cmd:approx -- gelu --radius 8 --bits 10 --plot gelu.svg\n"
      "gelu is z sigmoid(1.702 z), the paper's; gelu_erf is z Phi(z), by the error function;\n"
      "gelu_tanh is GPT-2's, which is near it; silu is z sigmoid(z).");
  const std::vector<std::string>& words = flags.words("FUNCTION", 1, 1, approx_functions());
  const double infinity = 1e300;
  const double& min =
      flags.number("min", 1e-3, -infinity, infinity, "lower end of the interval; for exp -8 unless given");
  const double& max =
      flags.number("max", 1, -infinity, infinity, "upper end of the interval; for exp 0 unless given");
  const double& radius =
      flags.number("radius", 8, 1e-300, infinity,
                   "the interval is [-radius, radius], for sigmoid, gelu, gelu_erf, gelu_tanh, silu and abs");
  const double& bits = flags.number(
      "bits", 12, 0.1, 45,
      "error wanted, 2^-bits: relative for inverse, inverse_sqrt and exp, absolute for the others");
  const bool& paper =
      flags.truth("paper", false,
                  "as many of the paper's plain iterations as --bits needs; for inverse and inverse_sqrt");
  const int64_t& points =
      flags.integer("points", 100000, 2, 10000000, "points at which the error is measured");
  const std::string& plot = flags.output("plot", "writes function, polynomial and error to this SVG file");
  const int64_t& seed = flags.integer("seed", 1, 0, INT64_MAX, "seed of the random half of the points");
  flags.begin(argc, argv);
  if (flags.given("plot") && !plot.ends_with(".svg"))
    throw Error(message("--plot ", plot, " does not end in .svg, and the plot is one; give such a name"));

  const std::string& function = words[0];
  approx::Interval domain{-radius, radius};
  if (domain_shape(function) == DomainShape::kRadius) {
    if (flags.given("min") || flags.given("max"))
      throw Error(message(function, " takes --radius, not --min and --max: its interval is symmetric"));
  } else {
    if (flags.given("radius"))
      throw Error(message(function, " takes --min and --max, not --radius: its interval is not symmetric"));
    const bool exponential = function == "exp";
    domain = {exponential && !flags.given("min") ? -8 : min, exponential && !flags.given("max") ? 0 : max};
  }
  const std::vector<approx::Approximation> found =
      find_approximations(function, domain, std::exp2(-bits), paper);
  const approx::Approximation& chosen = found.front();
  const ApproxMeasurement measurement =
      measure(chosen, static_cast<int>(points), static_cast<uint64_t>(seed));
  if (found.size() > 1) print(family_figures(found).table().text(), "\n");
  const Figures figures = approx_figures(found, measurement);
  print("  ", chosen.name(), "\n", figures.lines());
  if (!plot.empty()) {
    write_file(resolve_user_path(plot), plot_svg(chosen));
    print("\n  wrote ", plot, "\n");
  }
  flags.write_json(figures.object());
  if (measurement.worst_error > chosen.error_bound())
    throw Error(
        message("the measured error ", measurement.worst_error, " exceeds the proven bound ",
                chosen.error_bound(), " at x = ", measurement.worst_at, ": please report this as a defect"),
        Error::Kind::kFailed);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::approx, argc, argv); }
