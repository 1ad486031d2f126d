// Wide discrete Gaussian noise: integers x with probability proportional to exp(-x^2 / (2 sigma^2)), sigma up
// to 2^118, exact down to the last bit. A rounded product of sigma and a floating-point normal number will
// not do: its low bits are those of a 53-bit mantissa, and what they are added to shows through.
//
// Base. sigma_0^2 = -1 / (2 ln t) with t = 1 - 2^-11, so that rho(k) = t^(k^2) follows from products of
// binary fractions: 128-bit fixed point, no exponential. |x| is found in the table of cumulative
// probabilities, all of whose 424 entries are compared with a 127-bit uniform number; then comes a random
// sign. The entries are exact to 2^-115 and what lies beyond the table has probability below 2^-126:
// statistical distance at most 2^-112.
//
// Wide. g = x_0 + 16 x_1 + ... + 16^(D-2) x_(D-2) + m x_(D-1) with x_i from the base and 1 <= m <= 16^(D-1)
// chosen for the deviation asked for. If y has deviation sigma_y, then by completing the square
//
//     P(y + m x = g) ~ exp(-g^2 / (2 (sigma_y^2 + m^2 sigma_0^2))) * sum_k exp(-(k m - c)^2 / (2 tau^2)),
//     1 / tau^2 = 1 / sigma_y^2 + 1 / (m sigma_0)^2,        c a function of g
//
// and by Poisson's summation the last sum depends on c by a factor within 1 +- epsilon only,
// epsilon = 2 exp(-2 pi^2 (tau / m)^2) (the smoothing of Micciancio and Walter, ePrint 2017/259). Here
// tau / m >= 1.995 always, epsilon <= 2^-112. Together at most 2^-110 from the discrete Gaussian for each of
// the D <= 30 steps of an integer.
//
// No branch and no address depends on what is drawn; the time depends on sigma and the count alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ckks/base/secret.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

using int128_t = __int128;

class WideGaussian {
 public:
  static constexpr double kMaxDeviation = 0x1p118;
  // Total variation of an integer from the discrete Gaussian, at most: the steps above.
  static constexpr double kDistance = 30 * 0x1p-110;
  // |x| <= kTail * deviation() but with probability 2^-105: the distance above, beside 2^-140 of the normal
  // tail.
  static constexpr double kTail = 14;

  // The deviation is at least the one asked for (and sigma_0). Throws Error above kMaxDeviation.
  explicit WideGaussian(double deviation);

  double deviation() const { return deviation_; }
  // Independent integers, from a SecureRandom of each thread.
  SecretVector<int128_t> sample(size_t n) const;

 private:
  std::vector<int128_t> multipliers_;
  double deviation_;
};

namespace wide_gaussian_internal {

constexpr double kBaseDeviation = 31.9960931935;  // sigma_0
// Entry k: 2^127 P(|x| <= k), rounded down; the last one is 2^127.
const std::vector<uint128_t>& base_table();

}  // namespace wide_gaussian_internal

// The residues of signed values; branch-free.
void signed_to_residues(uint64_t* out, const int128_t* values, size_t n, const Modulus& q);

}  // namespace psm::ckks
