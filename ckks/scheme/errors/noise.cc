#include "ckks/scheme/errors/noise.h"

#include <cmath>

#include "ckks/ring/sampler.h"

namespace psm::ckks {
namespace {

constexpr double kErrorVariance = kErrorStandardDeviation * kErrorStandardDeviation;

}  // namespace

NoiseModel::NoiseModel(const Context& context)
    : context_(context),
      weight_(context.spec().secret_hamming_weight == 0 ? 2.0 * context.n() / 3
                                                        : context.spec().secret_hamming_weight) {}

double NoiseModel::slots(double coefficient_variance, Scale scale) const {
  return std::sqrt(coefficient_variance * context_.n()) / scale;
}

double NoiseModel::encoding(Scale scale) const { return slots(1.0 / 12, scale); }

double NoiseModel::encoding(Scale scale, int slots) const { return std::sqrt(2.0 * slots / 12) / scale; }

double NoiseModel::scalar(Scale scale) { return std::sqrt(1.0 / 6) / scale; }

double NoiseModel::encryption(Scale scale) const {
  return std::hypot(slots(kErrorVariance * (2.0 * context_.n() / 3 + weight_ + 1), scale), encoding(scale));
}

double NoiseModel::rescale(Scale scale) const { return slots((1 + weight_) / 12, scale); }

double NoiseModel::drop(Level level, Level target, double size) const {
  const double factor =
      context_.scale(target) * static_cast<double>(context_.q(target + 1)) / context_.scale(level);
  return std::hypot(size * std::abs(std::round(factor) / factor - 1), rescale(context_.scale(target)));
}

double NoiseModel::digit_variance(Level level) const {
  double sum = 0;
  for (int i = 0; i < context_.digit_count(level); ++i) {
    const DigitRange digit = context_.digit(i, level);
    double log2_ratio = -context_.log2_p(level);
    for (int j = digit.begin; j < digit.end; ++j) log2_ratio += std::log2(static_cast<double>(context_.q(j)));
    sum += std::exp2(2 * log2_ratio);
  }
  return context_.n() * kErrorVariance * sum / 12;
}

double NoiseModel::key_switch(Level level, Scale scale) const {
  return std::hypot(digits(level, scale), rescale(scale));
}

double NoiseModel::digits(Level level, Scale scale) const { return slots(digit_variance(level), scale); }

double NoiseModel::relinearise_rescale(Level level, Scale scale, Scale next_scale) const {
  return std::hypot(digits(level, scale), rescale(next_scale));
}

double NoiseModel::mod_raise(Scale scale) const {
  const double ratio = static_cast<double>(context_.q(0)) / static_cast<double>(context_.p(0));
  const double to_ephemeral = context_.n() * kErrorVariance * ratio * ratio / 12 +
                              (1 + context_.spec().encapsulation_hamming_weight) / 12.0;
  return std::hypot(slots(to_ephemeral, scale), key_switch(context_.max_level(), scale));
}

}  // namespace psm::ckks
