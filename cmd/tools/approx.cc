// bazel run //cmd:approx -- FUNCTION [flags]: fits a function as a slot program and prints its certificate.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "approx/absolute_value.h"
#include "approx/activation.h"
#include "approx/exponential.h"
#include "approx/inverse.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/joined.h"
#include "ckks/base/parallel.h"
#include "ckks/program/machines/twin.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"
#include "cmd/terminal/svg_plot.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::cmd {
namespace {

using approx::Approximation;
using approx::Interval;

constexpr size_t kTwinSlots = 1024;
constexpr int kPlotPoints = 1200;

std::string scientific(double value) { return format("%.3g", value); }

const char* name_of(approx::ErrorKind kind) {
  return kind == approx::ErrorKind::kRelative ? "relative" : "absolute";
}

// Sigmoid, GELU and SiLU.
template <approx::Activation kFunction>
Approximation find_activation(Interval domain, double error) {
  return approx::design_activation(kFunction, domain.hi, error);
}

enum class DomainShape { kEnds, kRadius };

// The error is relative for inverse, inverse_sqrt and exp, absolute for the others.
struct Function {
  const char* name;
  DomainShape shape;
  Approximation (*find)(Interval domain, double error);
  Approximation (*of_paper)(Interval domain, double error) = nullptr;  // where it has one
};
constexpr Function kFunctions[] = {
    {"inverse", DomainShape::kEnds, approx::design_inverse, approx::design_goldschmidt_inverse},
    {"inverse_sqrt", DomainShape::kEnds, approx::design_inverse_sqrt,
     approx::design_goldschmidt_inverse_sqrt},
    {"sigmoid", DomainShape::kRadius, find_activation<approx::Activation::kSigmoid>},
    {"gelu", DomainShape::kRadius, find_activation<approx::Activation::kGelu>},
    {"gelu_erf", DomainShape::kRadius, find_activation<approx::Activation::kGeluErf>},
    {"gelu_tanh", DomainShape::kRadius, find_activation<approx::Activation::kGeluTanh>},
    {"silu", DomainShape::kRadius, find_activation<approx::Activation::kSilu>},
    {"exp", DomainShape::kEnds, approx::design_exp},
    {"abs", DomainShape::kRadius,
     [](Interval x, double e) { return approx::design_absolute_value(x.hi, e); }},
};

PlotPoints sample(const Approximation& a, double (Approximation::*value)(double) const) {
  PlotPoints points(kPlotPoints + 1);
  for (int i = 0; i <= kPlotPoints; ++i) {
    const double x = a.domain().point(static_cast<double>(i) / kPlotPoints);
    points[i] = {x, (a.*value)(x)};
  }
  return points;
}

std::string number_text(double value) { return format("%.15g", value); }

// An approximation with this error at most. `paper`: by the paper's plain iteration.
Approximation find_approximation(const Function& function, Interval domain, double error, bool paper) {
  if (paper && !function.of_paper)
    throw Error(
        message("--paper is for inverse and inverse_sqrt, not for ", function.name, "; leave it out"));
  return (paper ? function.of_paper : function.find)(domain, error);
}

// Measurements of a run of the program.
struct Measurement {
  double worst_error = 0;  // over `points` points: half of them evenly spaced, half drawn with the seed
  double worst_at = 0;
  int points = 0;
  double program_difference = 0;  // |twin - evaluate|, normalised
  double largest_output = 0;      // |out|, normalised
  Json series = Json::Array{};    // Chebyshev coefficients, in the order of the program
};

Measurement measure(const Approximation& a, int points, uint64_t seed) {
  Measurement m;
  m.points = points;
  std::vector<double> x(points), error(points);
  std::mt19937_64 random(seed);
  const int even = points / 2;
  for (int i = 0; i < points; ++i) {
    const double share = i < even ? static_cast<double>(i) / (even > 1 ? even - 1 : 1)
                                  : static_cast<double>(random() >> 11) * 0x1p-53;
    x[i] = a.domain().point(share);
  }
  // What is not a number keeps no bound.
  const auto counted = [](double e) { return std::isnan(e) ? HUGE_VAL : e; };
  parallel_for(0, x.size(), [&](size_t i) { error[i] = counted(a.error_at(x[i])); });
  for (int i = 0; i < points; ++i)
    if (error[i] >= m.worst_error) {
      m.worst_error = error[i];
      m.worst_at = x[i];
    }

  program::Builder builder(kTwinSlots);
  const program::Value v = builder.input("v", true);
  builder.output("out", nn::build(builder, a, v, "the input"));
  const program::Program program = std::move(builder).finish();
  for (const program::Instruction& instruction : program.instructions)
    if (instruction.opcode == program::Opcode::kSeries) {
      const std::vector<double>& coefficients = instruction.series->coefficients;
      m.series.push_back(Json::Array(coefficients.begin(), coefficients.end()));
    }
  program::SlotVector input(kTwinSlots);
  for (size_t i = 0; i < kTwinSlots; ++i)
    input[i] =
        a.input_scale() * a.domain().point(static_cast<double>(i) / (kTwinSlots - 1)) + a.input_offset();
  const program::TwinResult twin = program::run_twin(program, {{"v", input}});
  const program::SlotVector& out = twin.outputs.at("out");
  for (size_t i = 0; i < kTwinSlots; ++i) {
    m.program_difference =
        std::max(m.program_difference, counted(std::abs(out[i] - a.evaluate_normalised(input[i].real()))));
    m.largest_output = std::max(m.largest_output, std::abs(out[i]));
  }
  return m;
}

// The certificate with its measurement.
Figures approx_figures(const Approximation& a, const Measurement& m) {
  Figures figures;
  Figures::Row& row = figures.row();
  row.json("function", a.function())
      .both("domain", "interval", Json::Array{a.domain().lo, a.domain().hi},
            range_text(a.domain().lo, a.domain().hi, "%.15g"))
      .json("error_kind", name_of(a.error_kind()))
      .both("certificate", "proof", a.certificate())
      .both("method", "method", a.method())
      .both("levels", "levels", a.depth())
      .both("products", "ciphertext products", a.multiplications())
      .both("degree", "degree", static_cast<int64_t>(a.degree()))
      .both("error_bound", message("proven ", name_of(a.error_kind()), " error"), a.error_bound(),
            scientific(a.error_bound()) + " = " + power_of_two_text(a.error_bound()))
      .json("input_scale", a.input_scale())
      .json("input_offset", a.input_offset())
      .cell("input", "v = " + number_text(a.input_scale()) + " x" +
                         (a.input_offset() == 0 ? ""
                                                : (a.input_offset() < 0 ? " - " : " + ") +
                                                      number_text(std::fabs(a.input_offset()))))
      .both("input_range", "range of v", Json::Array{a.input_range().lo, a.input_range().hi},
            range_text(a.input_range().lo, a.input_range().hi, "%.6g"))
      .json("output_scale", a.output_scale())
      .json("measured", Json::Object{{"points", m.points},
                                     {"worst_error", m.worst_error},
                                     {"worst_at", m.worst_at},
                                     {"largest_output", m.largest_output},
                                     {"program_difference", m.program_difference}})
      .cell("measured error", scientific(m.worst_error) + " at x = " + format("%.6g", m.worst_at) +
                                  format(", the worst of %.0f points", m.points))
      .cell("output", "P(x) = " + number_text(a.output_scale()) + " out, |out| at most " +
                          format("%.6g", m.largest_output))
      .cell("program less formula", scientific(m.program_difference) + " at most, on the twin")
      .json("chebyshev_series", m.series);
  return figures;
}

// Panels: the function with the polynomial, and the error with its bound.
std::string plot_svg(const Approximation& a) {
  SvgFigure figure(a.name() + format(" (depth %.0f)", a.depth()));
  const bool wide = a.domain().lo > 0 && a.domain().hi > 20 * a.domain().lo;
  SvgPanel& values = figure.panel("function and polynomial", "x", a.function());
  values.x_log = values.y_log = wide;
  values.line(a.function(), sample(a, &Approximation::exact));
  values.line("polynomial", sample(a, &Approximation::evaluate));
  SvgPanel& errors = figure.panel(std::string(name_of(a.error_kind())) + " error", "x", "error");
  errors.x_log = wide;
  errors.y_log = true;
  errors.line("error", sample(a, &Approximation::error_at));
  errors.line("proven bound", {{a.domain().lo, a.error_bound()}, {a.domain().hi, a.error_bound()}});
  return figure.text();
}

int approx_command(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:approx -- FUNCTION [flags]",
      "Approximates a function by a polynomial that runs on encrypted slots, and proves its error.\n\n"
      "For example:\n"
      "  bazel run //cmd:approx -- inverse --min 1e-3 --max 8 --bits 12\n"
      "  bazel run //cmd:approx -- inverse --min 1e-3 --max 1 --bits 12 --paper\n"
      "  bazel run //cmd:approx -- gelu --radius 8 --bits 10 --plot gelu.svg\n"
      "gelu is z sigmoid(1.702 z), the paper's; gelu_erf is z Phi(z), by the error function;\n"
      "gelu_tanh is GPT-2's, which is near it; silu is z sigmoid(z).");
  const std::vector<std::string>& words =
      flags.words("FUNCTION", 1, 1, joined(kFunctions, ", ", &Function::name));
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

  const Function& function = named(kFunctions, words[0], &Function::name, "function");
  Interval domain{-radius, radius};
  if (function.shape == DomainShape::kRadius) {
    if (flags.given("min") || flags.given("max"))
      throw Error(message(function.name, " takes --radius, not --min and --max: its interval is symmetric"));
  } else {
    if (flags.given("radius"))
      throw Error(
          message(function.name, " takes --min and --max, not --radius: its interval is not symmetric"));
    const bool exponential = words[0] == "exp";
    domain = {exponential && !flags.given("min") ? -8 : min, exponential && !flags.given("max") ? 0 : max};
  }
  const Approximation chosen = find_approximation(function, domain, std::exp2(-bits), paper);
  const Measurement measurement = measure(chosen, static_cast<int>(points), static_cast<uint64_t>(seed));
  const Figures figures = approx_figures(chosen, measurement);
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

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::approx_command, argc, argv); }
