// EvalMod: the polynomial that removes the multiples of q_0 which ModRaise leaves.
//
// With u = t / q_0 = I + m / q_0, I an integer, |I| <= K, |m| / q_0 <= 1 / R (R = q_0 / S_m, the message
// ratio),
//
//     m / q_0  ~  sin(2 pi u) / (2 pi)                            (Cheon et al., ePrint 2018/153)
//
// and the sine comes from a cosine of a small argument by r double angles (Han and Ki, ePrint 2019/688):
//
//     c_0(u) = cos(2 pi (u - 1/4) / 2^r),   c_{k+1} = 2 c_k^2 - 1,   c_r(u) = sin(2 pi u).
//
// Scaled by lambda_k with lambda_r = 1/(2 pi) and lambda_{k-1} = sqrt(2 lambda_k), the recurrence needs no
// doubling: d_k = lambda_k c_k, d_{k+1} = d_k^2 - lambda_{k+1}.
//
// c_0 is even in u - 1/4, so d_0 is a Chebyshev series in x = (u - 1/4) / half_width() with terms of even
// degree only. This takes eight relinearisations instead of ten. The 16 even terms serve the integers as well as 32
// terms of both parities would.
//
// The series is a fit by weighted least squares only where u can be: within 1/R of the integers (the idea of ePrint
// 2019/688, which moves Chebyshev nodes there). Around each |I| <= K it has eight points, u = I + cos(pi (s + 1/2) /
// 8) / R. With v = (h + 1) / 12, the variance of I, their weight is exp(-I^2 / (6 v)) up to |I| = 10, six deviations,
// and 2^-17 beyond, where I all but never is (overflow.h). Up to kExactUpTo the fit is as good as the sine, and
// beyond it the value keeps 13 bits.
//
// Fit and half width use the power of two nearest to R, so all rings share them. Coefficients are rounded to
// multiples of 2^-42 and written down (eval_mod.cc), so all machines have the same.
//
// The sine's own error is (2 pi / R)^2 / 6 at |m| = q_0/R; a slope 1 + delta with delta = 3/4 of that value
// leaves a quarter of it (the Chebyshev polynomial T_3 is the best cubic), so output_gain = R (1 + delta).
//
// Levels: ceil(log2(degree + 1)) + r.
#pragma once

#include <array>

#include "ckks/poly/series.h"

namespace psm::ckks {

class EvalMod {
 public:
  static constexpr int kEphemeralWeight = 32;                          // h
  static constexpr int kLargestMultiple = (kEphemeralWeight + 1) / 2;  // K (overflow.h)
  static constexpr int kDoubleAngles = 3;                              // r
  static constexpr double kShift = 0.25;                               // x is 0 at u = kShift
  // The largest |I| over which a fit adds less than a quarter to the sine's error.
  static constexpr int kExactUpTo = 10;
  // lambda_1 .. lambda_r.
  static constexpr std::array kLambdas{0x1.0fefbe1c2b6c9p+0, 0x1.20dd750429b6dp-1, 0x1.45f306dc9c883p-3};

  // R near 2^10 or 2^11. Throws Error for another.
  explicit EvalMod(double message_ratio);

  double message_ratio() const { return message_ratio_; }
  const Series& series() const { return series_; }  // d_0 as a series in x
  // The half width of the range of u - 1/4: K + 1/4 + 1/R, so that |x| is at most 1.
  double half_width() const { return kLargestMultiple + kShift + 1 / fitted_ratio_; }
  long double argument(long double u) const { return (u - kShift) / half_width(); }  // x
  double output_gain() const { return output_gain_; }  // R (1 + delta): m R / q_0 ~ gain * d_r
  int depth() const { return series_.depth() + kDoubleAngles; }

  // d_r(u) in plain arithmetic, as the ciphertext computes it.
  long double evaluate(long double u) const;
  // The error of an exact sine at the value z, which no fit can remove: an odd function of z, near (3/4 z -
  // z^3) (2 pi / R)^2 / 6.
  double sine_error(double z) const;

 private:
  double message_ratio_;
  double fitted_ratio_;  // the power of two nearest to R
  Series series_;
  double output_gain_;
};

}  // namespace psm::ckks
