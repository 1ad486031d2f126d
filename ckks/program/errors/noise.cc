#include "ckks/program/errors/noise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

// Complex root mean squares, as the noise model has them.
class Prediction {
 public:
  Prediction(const Plan& plan, const ckks::NoiseModel& noise, std::span<const Observation> observations)
      : noise_(noise), context_(noise.context()), observations_(observations) {
    PSM_CHECK(observations.size() == plan.level.size(), observations.size(), " observations of ",
              plan.level.size(), " values");
  }

  double size(Value value) const { return observations_[id(value)].rms; }

  double own(const Instruction& instruction, size_t result, ckks::Level level, double bootstrap_rms) const {
    const auto size_of = [&](size_t i) { return size(instruction.arguments[i]); };
    switch (instruction.opcode) {
      case Opcode::kInput:
        return noise_.encryption(context_.scale(level));
      case Opcode::kAddPlain:
        return instruction.plain.period() == 1 ? 0 : noise_.encoding(context_.scale(level));
      case Opcode::kMultiplyPlain: {
        // A number is rounded once, and not coefficient by coefficient.
        const ckks::Scale scale = context_.scale(level);
        const double encoding =
            instruction.plain.period() == 1 ? ckks::NoiseModel::scalar(scale) : noise_.encoding(scale);
        return std::hypot(size_of(0) * encoding, noise_.rescale(context_.scale(level - 1)));
      }
      case Opcode::kMultiply:
      case Opcode::kSumOfProducts:
        return noise_.relinearise_rescale(level, context_.scale(level) * context_.scale(level),
                                          context_.scale(level - 1));
      case Opcode::kRotate:
      case Opcode::kConjugate:
        return noise_.key_switch(level, context_.scale(level));
      case Opcode::kSumOfRotations: {  // divided by P once
        const ckks::Scale scale = context_.scale(level);
        const auto others = static_cast<double>(instruction.offsets.size() - 1);
        return std::hypot(noise_.key_switch(level, scale), std::sqrt(others) * noise_.digits(level, scale));
      }
      case Opcode::kSeries:
        return series(instruction, level);
      case Opcode::kBootstrap:
        return bootstrap_rms;
      case Opcode::kAdd:
      case Opcode::kSubtract:
      case Opcode::kNegate:
      case Opcode::kTimesI:
        return 0;
      case Opcode::kLinear:
        return own_of_output(instruction, static_cast<int>(result), level);
      case Opcode::kRefresh:  // not in a plan
        break;
    }
    refuse_opcode("noise", instruction.opcode);
  }

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

 private:
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

  const ckks::NoiseModel& noise_;
  const ckks::Context& context_;
  std::span<const Observation> observations_;
};

}  // namespace

std::vector<double> predicted_noise(const Plan& plan, const ckks::NoiseModel& noise,
                                    double bootstrap_rounding, std::span<const Observation> observations) {
  const Prediction prediction(plan, noise, observations);
  std::vector<double> own(plan.level.size(), 0);
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    const ckks::Level level = plan.argument_level[i];
    for (size_t r = 0; r < instruction.results.size(); ++r) {
      own[id(instruction.results[r])] =
          prediction.own(instruction, r, level, std::numbers::sqrt2 * bootstrap_rounding) /
          std::numbers::sqrt2;
    }
  }
  return own;
}

BootstrapErrors bootstrap_errors(const Plan& plan, const ckks::Context& context) {
  if (plan.bootstraps == 0) return {};
  const ckks::BootstrapPlan bootstrap(context);
  return {ckks::predict_error(bootstrap).rounding,
          [sine = bootstrap.eval_mod().polynomial()](double x) { return sine.sine_error(x); }};
}

std::vector<double> accumulated_noise(const Plan& plan, const ckks::NoiseModel& noise,
                                      std::span<const double> own, std::span<const double> follows,
                                      std::span<const Observation> observations) {
  const Prediction prediction(plan, noise, observations);
  PSM_CHECK(follows.size() == own.size(), follows.size(), " of ", own.size(), " values");
  std::vector<double> total(own.begin(), own.end());
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    const ckks::Level level = plan.argument_level[i];
    // What bringing an argument down adds.
    const auto error = [&](Value argument) {
      const ckks::Level from = plan.level[id(argument)];
      const double lowering = from == level ? 0 : noise.drop(from, level, prediction.size(argument));
      return std::hypot(total[id(argument)], lowering / std::numbers::sqrt2);
    };
    const auto argument_error = [&](size_t k) { return error(instruction.arguments[k]); };
    for (size_t r = 0; r < instruction.results.size(); ++r) {
      double variance = square(own[id(instruction.results[r])]);
      switch (instruction.opcode) {
        case Opcode::kInput:
        case Opcode::kAdd:
        case Opcode::kSubtract:
        case Opcode::kNegate:
        case Opcode::kTimesI:
        case Opcode::kAddPlain:
        case Opcode::kRotate:
        case Opcode::kConjugate:
          for (Value argument : instruction.arguments) variance += square(error(argument));
          break;
        case Opcode::kMultiplyPlain:
          variance += square(rms(instruction.plain) * argument_error(0));
          break;
        case Opcode::kMultiply:
        case Opcode::kSumOfProducts:
          for (size_t k = 0; k < instruction.arguments.size(); k += 2) {
            const Value a = instruction.arguments[k], b = instruction.arguments[k + 1];
            variance += a == b
                            ? square(2 * prediction.size(a) * error(a))
                            : square(prediction.size(a) * error(b)) + square(prediction.size(b) * error(a));
          }
          break;
        case Opcode::kLinear:
          for (const ckks::TransformTerm& term : instruction.linear->terms)
            if (term.output == static_cast<int>(r))
              variance += square(rms(term.weight) * argument_error(static_cast<size_t>(term.input)));
          break;
        case Opcode::kSumOfRotations:
          variance += static_cast<double>(instruction.offsets.size() + 1) * square(argument_error(0));
          break;
        case Opcode::kSeries:
          variance += square(prediction.slope(instruction) * argument_error(0));
          break;
        case Opcode::kBootstrap:
          variance += square(argument_error(r));
          break;
        case Opcode::kRefresh:
          refuse_opcode("noise of a plan", instruction.opcode);
      }
      total[id(instruction.results[r])] = std::sqrt(variance);
    }
  }
  for (size_t v = 0; v < total.size(); ++v) total[v] = std::hypot(total[v], follows[v]);
  return total;
}

}  // namespace psm::program
