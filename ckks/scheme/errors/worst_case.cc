#include "ckks/scheme/errors/worst_case.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ckks/ring/sampler.h"

namespace psm::ckks {
namespace {

double tail_bound(const Context& context, double parameter, double largest) {
  const double n = context.n();
  const double events = WorstCaseModel::kTailBits * std::numbers::ln2 + std::log(2 * n);
  return std::min(std::sqrt(2 * parameter * n * events), largest * n);
}

}  // namespace

WorstCaseModel::WorstCaseModel(const Context& context)
    : context_(context),
      error_(tail_bound(context, kErrorCoins / 2.0, kErrorBound)),
      mask_(tail_bound(context, 2.0 / 3, 1)),
      secret_(context.spec().secret_hamming_weight == 0 ? mask_ : context.spec().secret_hamming_weight) {}

double WorstCaseModel::encoding(Scale scale) const { return context_.n() / 2.0 / scale; }

double WorstCaseModel::encryption(Scale scale) const {
  return error_ * (mask_ + 1 + secret_) / scale + encoding(scale);
}

double WorstCaseModel::seeded_encryption(Scale scale) const { return error_ / scale + encoding(scale); }

double WorstCaseModel::rescale(Scale scale) const { return rounding(secret_) / scale; }

double WorstCaseModel::rounding(double secret) const {
  return (1 + secret) * context_.n() / 2 * (1 + 0x1p-40);
}

double WorstCaseModel::drop(Level level, Level target, double size, double error) const {
  if (level == target) return error;
  const double factor =
      context_.scale(target) * static_cast<double>(context_.q(target + 1)) / context_.scale(level);
  const double off = std::abs(std::nearbyint(factor) / factor - 1);
  return error * (1 + off) + size * off + rescale(context_.scale(target));
}

double WorstCaseModel::key_switch(Level level, Scale scale) const {
  double ratio = 0;  // sum of D / P
  for (int i = 0; i < context_.digit_count(level); ++i) {
    const DigitRange digit = context_.digit(i, level);
    double log2_ratio = -context_.log2_p(level);
    for (int j = digit.begin; j < digit.end; ++j) log2_ratio += std::log2(static_cast<double>(context_.q(j)));
    ratio += std::exp2(log2_ratio);
  }
  return (context_.n() / 2.0 * ratio * error_ + rounding(secret_)) / scale;
}

double WorstCaseModel::switch_to_ephemeral(Scale scale) const {
  const double ratio = static_cast<double>(context_.q(0)) / static_cast<double>(context_.p(0));
  return (context_.n() / 2.0 * ratio * error_ + rounding(context_.spec().encapsulation_hamming_weight)) /
         scale;
}

}  // namespace psm::ckks
