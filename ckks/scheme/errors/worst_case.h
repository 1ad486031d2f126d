// Worst-case errors: bounds, where the noise model (noise.h) has averages. What protects a secret rests on
// these: an attacker picks the computation, and may add a ciphertext to itself until its error is k e, and
// not sqrt(k) e as an average over independent errors would have it (Guo, Nabokov, Suvanto, Johansson, "Key
// recovery attacks on approximate homomorphic encryption with non-worst-case noise flooding countermeasures",
// USENIX Security 2024).
//
// Norm. |e| = max over all roots zeta of X^N + 1 of |e(zeta)|, divided by the scale: the largest error of a slot.
// It is submultiplicative, and the Euclidean norm of the coefficients is at most |e| times the scale
// (Parseval: sum over the roots of |e(zeta)|^2 = N ||e||_2^2).
//
// Freshly drawn polynomials. With coefficients independent, symmetric and sub-Gaussian of parameter c^2
// (E exp(t x) <= exp(t^2 c^2 / 2); c^2 = 21/2 for an error, 2/3 for a uniform ternary one) the real and the
// imaginary part of e(zeta) are sub-Gaussian of parameter c^2 N / 2, because sum_k cos^2(k theta) = N/2 at
// these roots. Over 2N one-sided events,
//
//     |e| > sqrt(2 c^2 N (128 ln 2 + ln 2N))   has probability at most 2^-128
//
// for each polynomial, whoever chooses what is computed with it later. Below, T(c^2) is that bound, or N
// times the largest coefficient where that is less. This is the only use of probability here; a secret of
// weight h has |s| <= S = h always. Everything after sampling is a triangle inequality, and roundings count
// with their largest value:
//
//   encoding      rounding of coefficients                N / 2
//   encryption    v e + e_1 s + e_0                       T(21/2) (T(2/3) + 1 + S)
//   seeded        e                                       T(21/2)
//   rescale       rounding of both polynomials            (1 + S) N / 2
//   key switch    digits in [-D/2, D/2] times errors,     T(21/2) sum_D N D / (2 P) + (1 + S) N / 2
//                 divided by P, rounded
//   drop          product by round(g), g = S_t q_{t+1} / S_l, of a value of size x:   x |round(g) / g - 1|, and a
//                 rescale
//
// each divided by the scale (a half within 2^-48 may be rounded either way, basis_conversion.h; a factor of 1
// + 2^-40 covers that). Errors that are functions of public messages alone (a rounded scalar, floating-point
// arithmetic in the encoder, a scale that is snapped to its canonical value) reveal nothing and are left out,
// but for the encoding's rounding and that of a drop.
#pragma once

#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

class WorstCaseModel {
 public:
  static constexpr int kTailBits = 128;

  explicit WorstCaseModel(const Context& context);
  const Context& context() const { return context_; }

  double encoding(Scale scale) const;
  double encryption(Scale scale) const;  // with the encoding's
  double seeded_encryption(Scale scale) const;
  // Added by a division that leaves `scale`.
  double rescale(Scale scale) const;
  // After the way from one level to a lower one.
  double drop(Level level, Level target, double size, double error) const;
  // Added by a rotation, a conjugation or a relinearisation at this level and scale.
  double key_switch(Level level, Scale scale) const;
  // At level 0, to the ephemeral secret at modulus q_0 p_0.
  double switch_to_ephemeral(Scale scale) const;

  // Largest sizes of the factors and their errors.
  static double product(double size_a, double error_a, double size_b, double error_b) {
    return size_a * error_b + size_b * error_a + error_a * error_b;
  }

 private:
  double rounding(double secret) const;

  const Context& context_;
  double error_, mask_, secret_;  // T(21/2), T(2/3), S
};

}  // namespace psm::ckks
