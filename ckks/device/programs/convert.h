// Changes of basis of coefficients.
//
// ConvertBasis: BasisConverter::convert (ckks/ring/basis_conversion.h) for several polynomials in one launch,
//
//     u = nearest integer to sum_s y_s / r_s,    out_t = sum_s y_s [D/r_s]_t - u [D]_t     modulo target t,
//
// a thread for one coefficient and kConvertTargets targets. The sum in doubles has the order of the scalar
// kernel and no fused multiply-adds (nvcc -fmad=false), so u has its bits.
//
// ReduceCentered: from one prime, taken in (-f/2, f/2), to the limbs of a basis.
#pragma once

#include "ckks/device/programs/limb_primes.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

constexpr int kConvertSources = 16, kConvertTargets = 8, kMaxConversions = 32;

// Limb s of y and limb t of out begin N words after the one before.
struct Conversion {
  const uint64_t* y;
  uint64_t* out;
  const uint64_t* matrix;     // target t: [D/r_s] for all sources s, then [-D]
  const Modulus* moduli;      // of the targets
  const double* reciprocals;  // 1 / r_s
  int sources, targets;
};

struct ConvertBasis {
  static constexpr const char* kName = "convert basis";
  static constexpr int kPhases = 1;
  static constexpr int kMaxThreads = kElementThreads;
  static constexpr size_t kSharedWords = 1;

  int log_n;
  int count;
  int target_groups;  // the most that a conversion has, of kConvertTargets
  Conversion conversions[kMaxConversions];

  constexpr uint32_t chunks() const { return (uint32_t{1} << log_n) / kElementThreads; }
  uint32_t blocks() const { return static_cast<uint32_t>(count * target_groups) * chunks(); }
  uint32_t threads() const { return kMaxThreads; }
  Work work() const {
    Work work;
    for (int i = 0; i < count; ++i) {
      const auto in = static_cast<uint64_t>(conversions[i].sources);
      const auto out = static_cast<uint64_t>(conversions[i].targets);
      work.bytes += (in + out) * 8 << log_n;
      work.products += (in + 1) * out << log_n;
    }
    return work;
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t*) const {
    const uint32_t part = at.block / chunks();
    const Conversion& c = conversions[part / static_cast<uint32_t>(target_groups)];
    const int first = static_cast<int>(part % static_cast<uint32_t>(target_groups)) * kConvertTargets;
    if (first >= c.targets) return;
    const uint64_t place = at.block % chunks() * kElementThreads + at.thread;
    uint64_t y[kConvertSources] = {};
    double multiple = 0;
    PSM_UNROLL
    for (int s = 0; s < kConvertSources; ++s) {
      if (s < c.sources) {
        y[s] = c.y[(static_cast<uint64_t>(s) << log_n) + place];
        multiple += static_cast<double>(y[s]) * c.reciprocals[s];
      }
    }
    const uint64_t u = static_cast<uint64_t>((multiple + 0x1p52) - 0x1p52);
    const int last = first + kConvertTargets < c.targets ? first + kConvertTargets : c.targets;
    for (int t = first; t < last; ++t) {
      const uint64_t* const row = c.matrix + static_cast<uint64_t>(t) * (c.sources + 1);
      uint128_t sum = uint128_t{u} * row[c.sources];
      PSM_UNROLL
      for (int s = 0; s < kConvertSources; ++s) {
        if (s < c.sources) sum += uint128_t{y[s]} * row[s];
      }
      // Any sum below 2^112: 2^52 of it at a time.
      const Modulus& m = c.moduli[t];
      const uint64_t high = reduce_mod(static_cast<uint64_t>(sum >> 52), m);
      const uint64_t low = static_cast<uint64_t>(sum) & ((uint64_t{1} << 52) - 1);
      c.out[(static_cast<uint64_t>(t) << log_n) + place] = reduce_wide((uint128_t{high} << 52) + low, m);
    }
  }
};

struct ReduceCentered {
  static constexpr const char* kName = "reduce centred";
  static constexpr int kPhases = 1;
  static constexpr int kMaxThreads = kElementThreads;
  static constexpr size_t kSharedWords = 1;
  static constexpr int kPolys = 2;

  int log_n;
  LimbPrimes primes;  // of the results
  int from;           // index of the prime of what is reduced
  const uint64_t* in[kPolys];
  uint64_t* out[kPolys];

  constexpr uint32_t chunks() const { return (uint32_t{1} << log_n) / kElementThreads; }
  uint32_t blocks() const { return static_cast<uint32_t>(kPolys * primes.limbs()) * chunks(); }
  uint32_t threads() const { return kMaxThreads; }
  Work work() const {
    const auto limbs = static_cast<uint64_t>(primes.limbs());
    return {kPolys * (1 + limbs) * 8 << log_n, kPolys * limbs << log_n};
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t*) const {
    const uint32_t part = at.block / chunks();
    const int poly = static_cast<int>(part) / primes.limbs(), j = static_cast<int>(part) % primes.limbs();
    const uint64_t place = at.block % chunks() * kElementThreads + at.thread;
    const int64_t value = centered(in[poly][place], primes.views[from].modulus);
    out[poly][(static_cast<uint64_t>(j) << log_n) + place] = reduce_signed(value, primes.modulus(j));
  }
};

}  // namespace psm::ckks
