// ConvertColumns: a change of basis of coefficients, of several polynomials in one launch, and the columns of the
// forward transform of what comes out; NttRows<kForward> or DivideRows ends it. Modulo target t
// (BasisConverter::convert, ckks/ring/basis_conversion.h)
//
//     u = nearest integer to sum_s y_s / r_s,    x_t = sum_s y_s [D/r_s]_t - u [D]_t.
//
// A block has four columns for four targets: the u of its columns first, which all four need, then the x_t in
// shared memory, then the layers, as NttColumns makes them. The y_s
// are read once for every four targets, by neighbouring blocks, which a cache serves. Sums are below
// (16 2^50 + 17) t < 2^55 t, as y_s < 2^50, and reduced to [0, t) before the transform.
//
// u has the bits of the scalar kernel: a sum in doubles in its order, no fused multiply-adds (nvcc -fmad=false).
// With one source, from f, it takes y in (-f/2, f/2): y / f is a half by no less than 1/2f > 2^-51, and the
// double is off by less than 2^-52.
#pragma once

#include "ckks/device/programs/block_program.h"
#include "ckks/device/programs/ntt.h"

namespace psm::ckks {

constexpr int kMaxConversions = 32;

// Limb s of y and limb t of out begin N words after the one before. Targets are the limbs of the launch's basis
// but [skip, skip + skipped), in order.
struct Conversion {
  const uint64_t* y;
  uint64_t* out;
  const uint64_t* matrix;     // target t: [D/r_s] for all sources s, then [-D]
  const double* reciprocals;  // 1 / r_s
  int sources, targets;
  int skip, skipped;
};

template <int kColumnBits>
struct ConvertColumns {
  static constexpr const char* kName = "convert and ntt columns";
  static constexpr int kUpper = kColumnBits < 4 ? kColumnBits : 4, kLower = kColumnBits - kUpper;
  static constexpr int kPhases = kLower > 0 ? 4 : 3;
  static constexpr int kColumns = 4, kTargets = 4, kStrands = kColumns * kTargets;
  static constexpr int kMaxThreads = 1 << kColumnBits;
  static constexpr size_t kMultiples = size_t{kStrands} << kColumnBits;  // where the u begin
  static constexpr size_t kSharedWords = kMultiples + (size_t{kColumns} << kColumnBits);

  int log_n;
  LimbPrimes primes;  // of the targets, and of what is skipped
  int count;
  int groups;  // the most that a conversion has, of kTargets targets
  Conversion conversions[kMaxConversions];

  uint32_t blocks() const { return static_cast<uint32_t>(count * groups) * (kRow / kColumns); }
  uint32_t threads() const { return kMaxThreads; }
  Work work() const {
    Work work;
    for (int i = 0; i < count; ++i) {
      const auto in = static_cast<uint64_t>(conversions[i].sources);
      const auto out = static_cast<uint64_t>(conversions[i].targets);
      work.bytes += (in + out) * 8 << log_n;
      work.products += ((in + 1) * out << log_n) + (out * kColumnBits << (log_n - 1));
    }
    work.bytes += static_cast<uint64_t>(primes.limbs()) * 16 << kColumnBits;
    return work;
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t* shared) const {
    const auto all_groups = static_cast<uint32_t>(groups);
    const uint32_t part = at.block / all_groups;
    const Conversion& c = conversions[part / (kRow / kColumns)];
    const int first = static_cast<int>(at.block % all_groups) * kTargets;
    if (first >= c.targets) return;
    const uint32_t first_column = part % (kRow / kColumns) * kColumns;
    if constexpr (kPhase == 0) {
      multiples(c, first_column, at.thread, shared);
    } else if constexpr (kPhase == 1) {
      convert(c, first, first_column, at.thread, shared);
    } else if constexpr (kPhase == 2) {
      upper(c, first, first_column, at.thread, shared);
    } else {
      lower(c, first, first_column, at.thread, shared);
    }
  }

 private:
  constexpr int prime_of(const Conversion& c, int target) const {
    return primes.prime(target < c.skip ? target : target + c.skipped);
  }

  constexpr void multiples(const Conversion& c, uint32_t first_column, uint32_t thread,
                           uint64_t* shared) const {
    for (uint32_t i = 0; i < kColumns; ++i) {
      const uint32_t k = i * kMaxThreads + thread;
      const uint64_t place = uint64_t{k / kColumns} * kRow + first_column + k % kColumns;
      double multiple = 0;
      for (int s = 0; s < c.sources; ++s)
        multiple += static_cast<double>(c.y[(static_cast<uint64_t>(s) << log_n) + place]) * c.reciprocals[s];
      shared[kMultiples + k] = static_cast<uint64_t>((multiple + 0x1p52) - 0x1p52);
    }
  }

  // The coefficients x_t, to shared memory.
  constexpr void convert(const Conversion& c, int first, uint32_t first_column, uint32_t thread,
                         uint64_t* shared) const {
    for (uint32_t u = thread; u < kMultiples; u += kMaxThreads) {
      const uint32_t strand = u % kStrands, row = u / kStrands, column = strand % kColumns;
      const int target = first + static_cast<int>(strand / kColumns);
      if (target >= c.targets) continue;
      const uint64_t* const factors = c.matrix + static_cast<uint64_t>(target) * (c.sources + 1);
      const uint64_t* y = c.y + uint64_t{row} * kRow + first_column + column;
      uint128_t sum = uint128_t{shared[kMultiples + row * kColumns + column]} * factors[c.sources];
      for (int s = 0; s < c.sources; ++s, y += uint64_t{1} << log_n) sum += uint128_t{*y} * factors[s];
      shared[u] = reduce_wide(sum, primes.views[prime_of(c, target)].modulus);
    }
  }

  // Layers 0 .. kUpper - 1: rows offset + i 2^kLower.
  constexpr void upper(const Conversion& c, int first, uint32_t first_column, uint32_t thread,
                       uint64_t* shared) const {
    constexpr int kSize = 1 << kUpper, kApart = 1 << kLower;
    for (int g = 0; g < ntt_program::kPoints / kSize; ++g) {
      const uint32_t u = static_cast<uint32_t>(g) * kMaxThreads + thread;
      const uint32_t strand = u % kStrands, offset = u / kStrands;
      const int target = first + static_cast<int>(strand / kColumns);
      if (target >= c.targets) continue;
      const NttView& view = primes.views[prime_of(c, target)];
      uint64_t* const room = shared + offset * kStrands + strand;
      uint64_t x[kSize] = {};
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i) x[i] = room[i * kApart * kStrands];
      PSM_UNROLL
      for (int i = 0; i < kSize / 2; ++i) x[i] += ntt_program::kStart * view.modulus.value;
      ntt_program::forward_layers<kUpper>(x, 1, view);
      const uint64_t place = uint64_t{offset} * kRow + first_column + strand % kColumns;
      uint64_t* const out = c.out + (static_cast<uint64_t>(target) << log_n) + place;
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i)
        (kLower == 0 ? out[i * kApart * kRow] : room[i * kApart * kStrands]) = x[i];
    }
  }

  // Layers kUpper .. kColumnBits - 1: rows q 2^kLower + i.
  constexpr void lower(const Conversion& c, int first, uint32_t first_column, uint32_t thread,
                       const uint64_t* shared) const {
    constexpr int kSize = 1 << kLower;
    PSM_UNROLL
    for (int g = 0; g < ntt_program::kPoints / kSize; ++g) {
      const uint32_t u = static_cast<uint32_t>(g) * kMaxThreads + thread;
      const uint32_t strand = u % kStrands, block = u / kStrands;
      const int target = first + static_cast<int>(strand / kColumns);
      if (target >= c.targets) continue;
      const uint64_t place = uint64_t{block << kLower} * kRow + first_column + strand % kColumns;
      const uint64_t* const room = shared + (block << kLower) * kStrands + strand;
      uint64_t x[kSize] = {};
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i) x[i] = room[i * kStrands];
      ntt_program::forward_layers<kLower>(x, (uint64_t{1} << kUpper) + block,
                                          primes.views[prime_of(c, target)]);
      uint64_t* const out = c.out + (static_cast<uint64_t>(target) << log_n) + place;
      PSM_UNROLL
      for (int i = 0; i < kSize; ++i) out[i * kRow] = x[i];
    }
  }
};

}  // namespace psm::ckks
