#include "ckks/program/errors/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/poly/series_plan.h"

namespace psm::program {
namespace {

double square(double x) { return x * x; }

double rms(const ckks::Plain& plain) { return std::sqrt(plain.mean_square()); }

// Points of the range in which the argument was observed.
std::vector<double> samples(const Observation& seen) {
  constexpr int kSamples = 65;
  const double lo = std::max(-1.0, seen.min_re), hi = std::min(1.0, seen.max_re);
  std::vector<double> points;
  for (int i = 0; i < kSamples; ++i) points.push_back(lo + (hi - lo) * i / (kSamples - 1));
  return points;
}

// Goes through a plan in order. Figures are complex root mean squares, as the noise model has them, but for those in
// `errors_`, which are of re and of im.
class Prediction {
 public:
  Prediction(const Plan& plan, const ckks::NoiseModel& noise, double bootstrap_rounding,
             std::span<const Observation> observations)
      : plan_(plan),
        noise_(noise),
        context_(noise.context()),
        bootstrap_(std::numbers::sqrt2 * bootstrap_rounding),
        observations_(observations) {
    PSM_CHECK(observations.size() == plan.level.size(), observations.size(), " observations of ",
              plan.level.size(), " values");
    errors_.own.resize(plan.level.size(), 0);
    errors_.accumulated.resize(plan.level.size(), 0);
  }

  // The errors of one result of an instruction, whose arguments have theirs.
  void add(const Instruction& instruction, size_t result, ckks::Level level) {
    const std::vector<Value>& arguments = instruction.arguments;
    const ckks::Scale scale = context_.scale(level);
    const size_t to = id(instruction.results[result]);
    double variance = 0;
    const auto adds = [&](double own) {
      errors_.own[to] = own / std::numbers::sqrt2;
      variance = square(errors_.own[to]);
    };
    // With what bringing the value down adds.
    const auto error = [&](Value value) {
      const ckks::Level from = plan_.level[id(value)];
      const double lowering = from == level ? 0 : noise_.drop(from, level, size(value));
      return std::hypot(errors_.accumulated[id(value)], lowering / std::numbers::sqrt2);
    };
    const auto passes_on = [&] {
      for (Value argument : arguments) variance += square(error(argument));
    };
    switch (instruction.opcode) {
      case Opcode::kInput:
        adds(noise_.encryption(scale));
        break;
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kNegate:
      case Opcode::kTimesI:
        passes_on();
        break;
      case Opcode::kAddPlain:
        adds(instruction.plain.period() == 1 ? 0 : noise_.encoding(scale));
        passes_on();
        break;
      case Opcode::kMultiplyPlain: {
        // A number is rounded once, and not coefficient by coefficient.
        const double encoding =
            instruction.plain.period() == 1 ? ckks::NoiseModel::scalar(scale) : noise_.encoding(scale);
        adds(std::hypot(size(arguments[0]) * encoding, noise_.rescale(context_.scale(level - 1))));
        variance += square(rms(instruction.plain) * error(arguments[0]));
        break;
      }
      case Opcode::kMultiply:
      case Opcode::kSumOfProducts:
        adds(noise_.relinearise_rescale(level, scale * scale, context_.scale(level - 1)));
        for (size_t k = 0; k < arguments.size(); k += 2) {
          const Value a = arguments[k], b = arguments[k + 1];
          variance += a == b ? square(2 * size(a) * error(a))
                             : square(size(a) * error(b)) + square(size(b) * error(a));
        }
        break;
      case Opcode::kRotate:
      case Opcode::kConjugate:
        adds(noise_.key_switch(level, scale));
        passes_on();
        break;
      case Opcode::kSumOfRotations: {  // divided by P once
        const auto others = static_cast<double>(instruction.offsets.size() - 1);
        adds(std::hypot(noise_.key_switch(level, scale), std::sqrt(others) * noise_.digits(level, scale)));
        variance += static_cast<double>(instruction.offsets.size() + 1) * square(error(arguments[0]));
        break;
      }
      case Opcode::kLinear:
        adds(own_of_output(instruction, static_cast<int>(result), level));
        for (const ckks::TransformTerm& term : instruction.linear->terms)
          if (term.output == static_cast<int>(result))
            variance += square(rms(term.weight) * error(arguments[term.input]));
        break;
      case Opcode::kSeries:
        adds(series(instruction, level));
        variance += square(slope(instruction) * error(arguments[0]));
        break;
      case Opcode::kBootstrap:
        adds(bootstrap_);
        variance += square(error(arguments[result]));
        break;
      case Opcode::kRefresh:
        refuse_opcode("noise of a plan", instruction.opcode);
    }
    errors_.accumulated[to] = std::sqrt(variance);
  }

  PredictedNoise take() && { return std::move(errors_); }

 private:
  double size(Value value) const { return observations_[id(value)].rms; }

  // The error that one output of a map adds: key switches of its sources, whole where they are divided by P
  // first, and the encoding of its weights, at the scale before the rescale.
  double own_of_output(const Instruction& instruction, int output, ckks::Level level) const {
    const ckks::Scale scale = context_.scale(level);
    const double encoding = noise_.encoding(scale);
    const double rotation =
        instruction.linear->divides_sources ? noise_.key_switch(level, scale) : noise_.digits(level, scale);
    double variance = square(noise_.rescale(context_.scale(level - 1)));
    for (const ckks::TransformTerm& term : instruction.linear->terms) {
      if (term.output != output) continue;
      const Value input = instruction.arguments[term.input];
      variance += square(size(input) * encoding);
      if (term.baby != 0 || term.conjugate) variance += square(rms(term.weight) * rotation);
    }
    return std::sqrt(variance);
  }

  // mean p'(x)^2 over the observed range.
  double slope(const Instruction& instruction) const {
    const ckks::Series& p = *instruction.series;
    constexpr double kStep = 1e-5;
    double sum = 0;
    const std::vector<double> points = samples(observations_[id(instruction.arguments[0])]);
    for (double x : points) {
      const double at = std::clamp(x, -1 + kStep, 1 - kStep);
      sum += square(static_cast<double>(ckks::evaluate(p, at + kStep) - ckks::evaluate(p, at - kStep)) /
                    (2 * kStep));
    }
    return std::sqrt(sum / static_cast<double>(points.size()));
  }

  // The error that the nodes of the series' plan add, carried to its result with sizes sampled over the range.
  double series(const Instruction& instruction, ckks::Level level) const {
    const ckks::SeriesPlan plan = plan_on_primes(*instruction.series, level, context_);
    const std::vector<double> points = samples(observations_[id(instruction.arguments[0])]);
    std::vector<double> sizes(plan.nodes.size(), 0), errors(plan.nodes.size(), 0);
    for (double x : points) {
      const std::vector<double> values = ckks::node_values(plan, x);
      for (size_t n = 0; n < values.size(); ++n) sizes[n] += square(values[n]);
    }
    for (double& size : sizes) size = std::sqrt(size / static_cast<double>(points.size()));
    for (size_t n = 1; n < plan.nodes.size(); ++n) {
      const ckks::SeriesPlan::Node& node = plan.nodes[n];
      double variance = square(node.products.empty()
                                   ? noise_.rescale(node.scale)
                                   : noise_.relinearise_rescale(node.level + 1, node.sum_scale, node.scale));
      for (const ckks::SeriesPlan::Product& product : node.products) {
        const auto a = static_cast<size_t>(product.left), b = static_cast<size_t>(product.right);
        const double weight = product.doubled ? 2 : 1;
        variance += square(weight) * (a == b ? square(2 * sizes[a] * errors[a])
                                             : square(sizes[a] * errors[b]) + square(sizes[b] * errors[a]));
      }
      for (const ckks::SeriesPlan::Term& term : node.terms)
        variance += square(term.coefficient * errors[term.node]);
      errors[n] = std::sqrt(variance);
    }
    return errors.back();
  }

  const Plan& plan_;
  const ckks::NoiseModel& noise_;
  const ckks::Context& context_;
  const double bootstrap_;
  std::span<const Observation> observations_;
  PredictedNoise errors_;
};

}  // namespace

BootstrapErrors bootstrap_errors(const Plan& plan, const ckks::Context& context) {
  if (plan.bootstraps == 0) return {};
  const ckks::BootstrapPlan bootstrap(context);
  return {ckks::predict_error(bootstrap).rounding,
          [sine = bootstrap.eval_mod().polynomial()](double x) { return sine.sine_error(x); }};
}

PredictedNoise predicted_noise(const Plan& plan, const ckks::NoiseModel& noise, double bootstrap_rounding,
                               std::span<const Observation> observations, std::span<const double> follows) {
  PSM_CHECK(follows.empty() || follows.size() == plan.level.size(), follows.size(), " of ", plan.level.size(),
            " values");
  Prediction prediction(plan, noise, bootstrap_rounding, observations);
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    for (size_t r = 0; r < instruction.results.size(); ++r)
      prediction.add(instruction, r, plan.argument_level[i]);
  }
  PredictedNoise errors = std::move(prediction).take();
  for (size_t v = 0; v < follows.size(); ++v)
    errors.accumulated[v] = std::hypot(errors.accumulated[v], follows[v]);
  return errors;
}

}  // namespace psm::program
