#include "ckks/scheme/chain/chain.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

constexpr int kMostPrimes = 16;  // of a digit: a conversion takes no more (ckks/ring/basis_conversion.h)
// The key switch's error is sqrt(N / 12) * 3.2 * (the digit's size) / P a coefficient; with digits so many bits below
// P it disappears under the rounding of the division by P.
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

// Partitions the primes q_0 .. q_top, given by their log2, for a P of p_bits. Returns nothing if a prime is
// larger than P.
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

// Returns the best gadget for a band with this top. It has at most `most` special primes of `bits_each` bits,
// and log2(Q_top P) exceeds `budget_bits` by at most a thousandth of a bit. Without digits if there is none.
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

// The highest level of each band: where a part of the chain ends, and its middle if it is long. Apart are
// the first level of computing, where a large matrix often makes what a bootstrap reads, the first level of EvalMod,
// where its series has one product, and every level of CoeffsToSlots, since no two of its factors share a rotation.
std::vector<Level> band_tops(const ParameterSpec& s) {
  constexpr int kLong = 8;
  std::vector<Level> tops;
  Level top = 0;
  for (int levels : {s.stc_levels, s.compute_levels, s.evalmod_levels, s.cts_levels}) {
    if (levels == 0) continue;
    top += levels;
    if (levels >= kLong) tops.push_back(top - levels / 2);
    tops.push_back(top);
  }
  if (s.stc_levels > 0 && s.compute_levels > 0) tops.push_back(Level::at(s.stc_levels + 1));
  if (s.evalmod_levels > 1) tops.push_back(Level::at(s.stc_levels + s.compute_levels + s.evalmod_levels - 1));
  for (int level = 1; level < s.cts_levels; ++level) tops.push_back(top - level);
  std::sort(tops.begin(), tops.end());
  tops.erase(std::unique(tops.begin(), tops.end()), tops.end());
  return tops;
}

}  // namespace

int Chain::band(Level level) const {
  PSM_CHECK(level >= 0 && level <= max_level, "level ", level, " of ", max_level);
  int band = 0;
  while (bands[band].top < level) ++band;
  return band;
}

int Chain::digits(Level level) const {
  const std::vector<DigitRange>& digits = gadget(level).digits;
  int count = 0;
  while (count < static_cast<int>(digits.size()) && digits[count].begin <= level) ++count;
  return count;
}

DigitRange Chain::digit(int index, Level level) const {
  const DigitRange& digit = gadget(level).digits[index];
  return {digit.begin, std::min<int>(digit.end, level + 1)};
}

int Chain::packed_bits(Level level, int p_count) const {
  int bits = 0;
  for (int i = 0; i <= level; ++i) bits += q_bits[i];
  for (int i = 0; i < p_count; ++i) bits += p_bits[i];
  return bits;
}

size_t Chain::key_bytes(Level level, int p_count, int digits) const {
  return 2 * static_cast<size_t>(digits) * (static_cast<size_t>(packed_bits(level, p_count)) << log_n) / 8;
}

std::vector<Gadget> gadgets_of(const ParameterSpec& spec, std::span<const double> log2_q, double log2_p) {
  const auto max_level = Level::at(static_cast<int>(log2_q.size()) - 1);
  double budget = log2_p;
  for (double bits : log2_q) budget += bits;
  std::vector<Gadget> gadgets;
  for (const Level top : band_tops(spec)) {
    gadgets.push_back(top == max_level
                          ? Gadget{top, spec.p_count, partition_digits(log2_q, top, log2_p)}
                          : best_gadget(log2_q, top, max_level + spec.p_count - top, spec.p_bits, budget));
  }
  return gadgets;
}

}  // namespace psm::ckks
