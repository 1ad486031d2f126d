// The noise model: what error to expect after each operation.
//
// An error polynomial with independent coefficients of standard deviation sigma shows in every slot as a
// complex number of root mean square sigma sqrt(N) / scale. All figures here are such root mean squares, in
// units of the encrypted values. They are averages for planning and for ledgers, not bounds. Nothing that
// protects a secret may rest on them (USENIX Security 2024, Guo et al.).
//
// Notation: sigma_e = 3.24 of an error, h = Hamming weight of the secret (2N/3 if dense), h~ of the ephemeral
// one, D = product of the primes of a digit, c -> slots as above.
//   encoding      rounding of coefficients                    c = sqrt(1/12); of a vector of m slots that is
//                                                             repeated, only 2m coefficients are not 0
//   scalar        one Gaussian integer                        a slot's error is sqrt(1/6) / scale
//   encryption    v e + e_1 s + e_0, v ternary dense          c = sigma_e sqrt(2N/3 + h + 1)
//   division      by q_l (rescale) or P: both polynomials     c = sqrt((1 + h) / 12)
//                 are rounded
//   drop          product by round(g), g = S_t q_{t+1} / S_l,  a value's error is its size times |round(g) / g - 1|,
//                 and a division                               and the division's
//   digits        sum over digits, each uniform in            c^2 = N sigma_e^2 sum_D D^2 / (12 P^2)
//                 [-D/2, D/2], times an error, over P
//   key switch    digits and a division by P
//   ModRaise      to the ephemeral secret at q_0 p_0          c^2 = N sigma_e^2 q_0^2 / (12 p_0^2) + (1 + h~) / 12
//   raised digit  a raised c_1 times an error, over P         c^2 = N sigma_e^2 q_0^2 / (12 P^2); back to the main
//                                                             secret with a division by P
#pragma once

#include <cmath>

#include "ckks/ring/sampler.h"
#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

class NoiseModel {
 public:
  explicit NoiseModel(const Context& context)
      : context_(context),
        weight_(context.spec().secret_hamming_weight == 0 ? 2.0 * context.n() / 3
                                                          : context.spec().secret_hamming_weight) {}
  const Context& context() const { return context_; }

  double encoding(Scale scale) const { return slots(1.0 / 12, scale); }
  // The same for so many slots, repeated.
  double encoding(Scale scale, int slots) const { return std::sqrt(2.0 * slots / 12) / scale; }
  static double scalar(Scale scale) { return std::sqrt(1.0 / 6) / scale; }
  // With the encoding's.
  double encryption(Scale scale) const {
    return std::hypot(slots(kErrorVariance * (2.0 * context_.n() / 3 + weight_ + 1), scale), encoding(scale));
  }
  // Added by a division that leaves `scale`.
  double rescale(Scale scale) const { return slots((1 + weight_) / 12, scale); }
  // Added to a value of this root mean square size when it is lowered from `level` to `target`.
  double drop(Level level, Level target, double size) const {
    const double factor =
        context_.scale(target) * static_cast<double>(context_.q(target + 1)) / context_.scale(level);
    return std::hypot(size * std::abs(std::round(factor) / factor - 1), rescale(context_.scale(target)));
  }
  // Added by a rotation, a conjugation or a relinearisation at this level and scale.
  double key_switch(Level level, Scale scale) const {
    return std::hypot(digits(level, scale), rescale(scale));
  }
  // The part of the digits alone: each rotation adds it to a sum in Q P that is divided once, at the end.
  double digits(Level level, Scale scale) const {
    double sum = 0;
    for (int i = 0; i < context_.digit_count(level); ++i) {
      const DigitRange digit = context_.digit(i, level);
      double log2_ratio = -context_.log2_p(level);
      for (int j = digit.begin; j < digit.end; ++j)
        log2_ratio += std::log2(static_cast<double>(context_.q(j)));
      sum += std::exp2(2 * log2_ratio);
    }
    return slots(context_.n() * kErrorVariance * sum / 12, scale);
  }
  // Added to a product of this scale by relinearisation and rescale in one division that leaves `next_scale`.
  double relinearise_rescale(Level level, Scale scale, Scale next_scale) const {
    return std::hypot(digits(level, scale), rescale(next_scale));
  }
  // Added by ModRaise, and by a key from the ephemeral secret at this level, alone.
  double mod_raise(Scale scale) const {
    const double ratio = static_cast<double>(context_.q(0)) / static_cast<double>(context_.p(0));
    return slots(context_.n() * kErrorVariance * ratio * ratio / 12 +
                     (1 + context_.spec().encapsulation_hamming_weight) / 12.0,
                 scale);
  }
  double raised_digit(Level level, Scale scale) const {
    const double ratio = static_cast<double>(context_.q(0)) * std::exp2(-context_.log2_p(level));
    return slots(context_.n() * kErrorVariance * ratio * ratio / 12, scale);
  }

 private:
  static constexpr double kErrorVariance = kErrorStandardDeviation * kErrorStandardDeviation;

  // Errors of coefficients, as slots have them.
  double slots(double coefficient_variance, Scale scale) const {
    return std::sqrt(coefficient_variance * context_.n()) / scale;
  }

  const Context& context_;
  double weight_;  // h
};

}  // namespace psm::ckks
