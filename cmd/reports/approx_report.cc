#include "cmd/reports/approx_report.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "approx/absolute_value.h"
#include "approx/activation.h"
#include "approx/exponential.h"
#include "approx/inverse.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/program/machines/twin.h"
#include "cmd/terminal/svg_plot.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::cmd {
namespace {

constexpr size_t kTwinSlots = 1024;
constexpr int kPlotPoints = 1200;

// Point number i of n of the domain; geometric where it is positive, so that a small end is seen.
double point_of(const approx::Interval& domain, double share) {
  const double x =
      domain.lo > 0 ? domain.lo * std::pow(domain.hi / domain.lo, share) : domain.lo + share * domain.width();
  return std::clamp(x, domain.lo, domain.hi);
}

std::string scientific(double value) { return format("%.3g", value); }

const char* name_of(approx::ErrorKind kind) {
  return kind == approx::ErrorKind::kRelative ? "relative" : "absolute";
}

using approx::Approximation;
using approx::Interval;
using Found = std::vector<Approximation>;

// Sigmoid, GELU and SiLU.
template <approx::Activation kFunction>
Found find_activation(Interval domain, double error) {
  return {approx::design_activation(kFunction, domain.hi, error)};
}

struct Function {
  const char* name;
  DomainShape shape;
  Found (*find)(Interval domain, double error);
  Approximation (*of_paper)(Interval domain, double error) = nullptr;  // where it has one
};
constexpr Function kFunctions[] = {
    {"inverse", DomainShape::kEnds, [](Interval x, double e) { return Found{approx::design_inverse(x, e)}; },
     approx::design_goldschmidt_inverse},
    {"inverse_sqrt", DomainShape::kEnds, approx::inverse_sqrt_families,
     approx::design_goldschmidt_inverse_sqrt},
    {"sigmoid", DomainShape::kRadius, find_activation<approx::Activation::kSigmoid>},
    {"gelu", DomainShape::kRadius, find_activation<approx::Activation::kGelu>},
    {"gelu_erf", DomainShape::kRadius, find_activation<approx::Activation::kGeluErf>},
    {"gelu_tanh", DomainShape::kRadius, find_activation<approx::Activation::kGeluTanh>},
    {"silu", DomainShape::kRadius, find_activation<approx::Activation::kSilu>},
    {"exp", DomainShape::kEnds, [](Interval x, double e) { return Found{approx::design_exp(x, e)}; }},
    {"abs", DomainShape::kRadius,
     [](Interval x, double e) { return Found{approx::design_absolute_value(x.hi, e)}; }},
};

const Function& function_named(const std::string& name) {
  for (const Function& function : kFunctions)
    if (name == function.name) return function;
  throw Error(message("unknown function '", name, "'; it is one of ", approx_functions()));
}

PlotPoints sample(const Approximation& a, double (Approximation::*value)(double) const) {
  PlotPoints points(kPlotPoints + 1);
  for (int i = 0; i <= kPlotPoints; ++i) {
    const double x = point_of(a.domain(), static_cast<double>(i) / kPlotPoints);
    points[i] = {x, (a.*value)(x)};
  }
  return points;
}

std::string number_text(double value) { return format("%.15g", value); }

// What methods are compared by.
void add_costs(const approx::Approximation& a, Figures::Row& row) {
  row.both("method", "method", a.method())
      .both("levels", "levels", a.depth())
      .both("products", "ciphertext products", a.multiplications())
      .both("degree", "degree", static_cast<int64_t>(a.degree()))
      .both("error_bound", message("proven ", name_of(a.error_kind()), " error"), a.error_bound(),
            scientific(a.error_bound()) + " = " + power_of_two_text(a.error_bound()));
}

}  // namespace

std::string approx_functions() {
  std::string names;
  for (const Function& function : kFunctions)
    names += (names.empty()                           ? ""
              : &function == std::end(kFunctions) - 1 ? " or "
                                                      : ", ") +
             std::string(function.name);
  return names;
}

DomainShape domain_shape(const std::string& function) { return function_named(function).shape; }

std::vector<approx::Approximation> find_approximations(const std::string& function, approx::Interval domain,
                                                       double error, bool paper) {
  const Function& named = function_named(function);
  if (paper && !named.of_paper)
    throw Error(message("--paper is for inverse and inverse_sqrt, not for ", function, "; leave it out"));
  std::vector<approx::Approximation> found =
      paper ? Found{named.of_paper(domain, error)} : named.find(domain, error);
  if (found.empty())
    throw Error(message(function, ": no program of 24 levels has error ", error, " on [", domain.lo, ", ",
                        domain.hi, "]; narrow the interval or allow a larger error"));
  return found;
}

ApproxMeasurement measure(const approx::Approximation& a, int points, uint64_t seed) {
  PSM_CHECK(points >= 2, points);
  ApproxMeasurement m;
  m.points = points;
  std::vector<double> x(points), error(points);
  std::mt19937_64 random(seed);
  const int even = points / 2;
  for (int i = 0; i < points; ++i) {
    const double share = i < even ? static_cast<double>(i) / (even > 1 ? even - 1 : 1)
                                  : static_cast<double>(random() >> 11) * 0x1p-53;
    x[i] = point_of(a.domain(), share);
  }
  parallel_for(0, x.size(), [&](size_t i) { error[i] = a.error_at(x[i]); });
  for (int i = 0; i < points; ++i)
    if (error[i] >= m.worst_error) {
      m.worst_error = error[i];
      m.worst_at = x[i];
    }

  program::Builder builder(kTwinSlots);
  const program::Value v = builder.input("v", true);
  builder.output("out", nn::build(builder, a, v, "the input"));
  const program::Program program = std::move(builder).finish();
  program::SlotVector input(kTwinSlots);
  for (size_t i = 0; i < kTwinSlots; ++i)
    input[i] =
        a.input_scale() * point_of(a.domain(), static_cast<double>(i) / (kTwinSlots - 1)) + a.input_offset();
  const program::TwinResult twin = program::run_twin(program, {{"v", input}});
  const program::SlotVector& out = twin.outputs.at("out");
  for (size_t i = 0; i < kTwinSlots; ++i) {
    m.program_difference =
        std::max(m.program_difference, std::abs(out[i] - a.evaluate_normalised(input[i].real())));
    m.largest_output = std::max(m.largest_output, std::abs(out[i]));
  }
  for (const program::Instruction& instruction : program.instructions)
    if (instruction.opcode == program::Opcode::kSeries) m.series.push_back(instruction.series->coefficients);
  return m;
}

Figures family_figures(const std::vector<approx::Approximation>& approximations) {
  Figures figures;
  for (const approx::Approximation& a : approximations) add_costs(a, figures.row());
  return figures;
}

Figures approx_figures(const std::vector<approx::Approximation>& approximations, const ApproxMeasurement& m) {
  PSM_CHECK(!approximations.empty());
  const approx::Approximation& a = approximations.front();
  Json::Array series;
  for (const std::vector<double>& coefficients : m.series)
    series.emplace_back(Json::Array(coefficients.begin(), coefficients.end()));
  Figures figures;
  Figures::Row& row = figures.row();
  row.json("function", a.function())
      .both("domain", "interval", Json::Array{a.domain().lo, a.domain().hi},
            range_text(a.domain().lo, a.domain().hi, "%.15g"))
      .json("error_kind", name_of(a.error_kind()))
      .both("certificate", "proof", a.certificate());
  add_costs(a, row);
  row.json("input_scale", a.input_scale())
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
      .json("chebyshev_series", std::move(series))
      .json("other_methods", family_figures({approximations.begin() + 1, approximations.end()}).json());
  return figures;
}

std::string plot_svg(const approx::Approximation& a) {
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
  errors.level("proven bound", a.error_bound());
  return figure.text();
}

}  // namespace psm::cmd
