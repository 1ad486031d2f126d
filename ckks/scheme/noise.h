// The noise model: what error to expect after each operation.
//
// An error polynomial with independent coefficients of standard deviation sigma shows in every slot as a
// complex number of root mean square sigma sqrt(N) / scale. All figures here are such root mean squares, in
// units of the encrypted values. They are averages for planning and for ledgers. They are no bounds: nothing
// that protects a secret may rest on them (USENIX Security 2024, Guo et al.).
//
// Notation: sigma_e = 3.24 of an error, h = Hamming weight of the secret (2N/3 if dense), c -> slots as
// above.
//   encoding     rounding of coefficients                    c = sqrt(1/12)
//   encryption   v e + e_1 s + e_0, v ternary dense          c = sigma_e sqrt(2N/3 + h + 1)
//   seeded       e                                           c = sigma_e
//   rescale      rounding of both polynomials                c = sqrt((1 + h) / 12)
//   key switch   sum over digits, each uniform in [-D/2, D/2],
//                times an error, divided by P              c^2 = N sigma_e^2 sum_D D^2 / (12 P^2)
//                and rounded                                     + (1 + h) / 12
#pragma once

#include "ckks/scheme/context.h"

namespace psm {

class NoiseModel {
 public:
  explicit NoiseModel(const Context& context);
  const Context& context() const { return context_; }

  double encoding(double scale) const;
  double encryption(double scale) const;  // with the encoding's
  double seeded_encryption(double scale) const;
  // Added by a division that leaves `scale`.
  double rescale(double scale) const;
  // Added by a rotation, a conjugation or a relinearisation at this level and scale.
  double key_switch(int level, double scale) const;

  static double sum(double error_a, double error_b);
  // Root mean square sizes of the factors and their errors.
  static double product(double size_a, double error_a, double size_b, double error_b);
  // Product by a plaintext encoded at plain_scale.
  double plain_product(double size, double error, double plain_size, double plain_scale) const;

 private:
  double slots(double coefficient_deviation, double scale) const;

  const Context& context_;
  double weight_;  // h
};

}  // namespace psm
