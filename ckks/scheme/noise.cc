#include "ckks/scheme/noise.h"

#include <cmath>

#include "ckks/ring/sampler.h"

namespace psm {

NoiseModel::NoiseModel(const Context& context)
    : context_(context),
      weight_(context.spec().secret_hamming_weight == 0 ? 2.0 * context.n() / 3
                                                        : context.spec().secret_hamming_weight) {}

double NoiseModel::slots(double coefficient_deviation, double scale) const {
  return coefficient_deviation * std::sqrt(static_cast<double>(context_.n())) / scale;
}

double NoiseModel::encoding(double scale) const { return slots(std::sqrt(1.0 / 12), scale); }

double NoiseModel::encryption(double scale) const {
  const double deviation = kErrorStandardDeviation * std::sqrt(2.0 * context_.n() / 3 + weight_ + 1);
  return sum(slots(deviation, scale), encoding(scale));
}

double NoiseModel::seeded_encryption(double scale) const {
  return sum(slots(kErrorStandardDeviation, scale), encoding(scale));
}

double NoiseModel::rescale(double scale) const { return slots(std::sqrt((1 + weight_) / 12), scale); }

double NoiseModel::key_switch(int level, double scale) const {
  double variance = 0;
  for (int i = 0; i < context_.digit_count(level); ++i) {
    const DigitRange digit = context_.digit(i, level);
    double log2_ratio = -context_.log2_p();
    for (int j = digit.begin; j < digit.end; ++j) log2_ratio += std::log2(static_cast<double>(context_.q(j)));
    variance += std::exp2(2 * log2_ratio) / 12;
  }
  variance *= context_.n() * kErrorStandardDeviation * kErrorStandardDeviation;
  return slots(std::sqrt(variance + (1 + weight_) / 12), scale);
}

double NoiseModel::sum(double error_a, double error_b) { return std::hypot(error_a, error_b); }

double NoiseModel::product(double size_a, double error_a, double size_b, double error_b) {
  return std::sqrt(size_a * size_a * error_b * error_b + size_b * size_b * error_a * error_a +
                   error_a * error_a * error_b * error_b);
}

double NoiseModel::plain_product(double size, double error, double plain_size, double plain_scale) const {
  return product(size, error, plain_size, encoding(plain_scale));
}

}  // namespace psm
