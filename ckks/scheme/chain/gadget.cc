#include "ckks/scheme/chain/gadget.h"

namespace psm::ckks {
namespace {

// The key switch's error is sqrt(N / 12) * 3.2 * (the digit's size) / P a coefficient; with digits so many bits below
// P it disappears under the rounding of the division by P.
constexpr int kMostPrimes = 16;  // of a digit: a conversion takes no more (ckks/ring/basis_conversion.h)
constexpr double kDigitMarginBits = 8;
constexpr double kEqualBits = 1e-3;  // by which two sets of primes of the same nominal size may differ

double cost(const Gadget& gadget) {
  const int limbs = gadget.top + 1, k = gadget.p_count, d = static_cast<int>(gadget.digits.size());
  double conversions = 2.0 * (k + 1) * limbs;
  for (const DigitRange& digit : gadget.digits) {
    const int size = digit.end - digit.begin;
    conversions += (size + 1.0) * (limbs + k - size);
  }
  const double transforms = d * (limbs + k) + 2.0 * k + 2.0 * limbs, key_limbs = 2.0 * d * (limbs + k);
  return transforms + key_limbs / 6 + conversions / 32 + (limbs + k) / 2.0;
}

}  // namespace

std::vector<DigitRange> partition_digits(std::span<const double> log2_q, Level top, double p_bits) {
  std::vector<DigitRange> digits;
  for (int i = 0; i <= top;) {
    DigitRange digit{i, i};
    double bits = 0;
    // A single prime may be as large as P (0.01: primes of nominally equal size).
    while (digit.end <= top && digit.end - digit.begin < kMostPrimes &&
           bits + log2_q[digit.end] <= p_bits + (digit.end == digit.begin ? 0.01 : -kDigitMarginBits)) {
      bits += log2_q[digit.end++];
    }
    if (digit.end == digit.begin) return {};
    digits.push_back(digit);
    i = digit.end;
  }
  return digits;
}

Gadget best_gadget(std::span<const double> log2_q, Level top, int most, double bits_each,
                   double budget_bits) {
  double q_bits = 0;
  for (int i = 0; i <= top; ++i) q_bits += log2_q[i];
  Gadget best;
  for (int k = 1; k <= most && k <= kMaxSpecialPrimes && q_bits + k * bits_each <= budget_bits + kEqualBits;
       ++k) {
    Gadget gadget{top, k, partition_digits(log2_q, top, k * bits_each)};
    if (gadget.digits.empty()) continue;
    if (best.digits.empty() || cost(gadget) < cost(best)) best = std::move(gadget);
  }
  return best;
}

}  // namespace psm::ckks
