// ConvertColumns: a change of basis of coefficients, of several polynomials in one launch, and the columns of the
// forward transform of what comes out; NttRows<kForward> or DivideRows ends it. Modulo target t
// (BasisConverter::convert, ckks/ring/basis_conversion.h)
//
//     u = nearest integer to sum_s y_s / r_s,    x_t = sum_s y_s [D/r_s]_t - u [D]_t.
//
// A block has four columns for four targets. A thread makes the x_t of all four at a place, so that it reads y_s once;
// they go to shared memory as doubles, and then through the layers, as NttColumns makes them. Neighbouring blocks
// read the y_s for other targets, which a cache serves. x_t is at most t/2 + 2 before the transform.
//
// u has the bits of the scalar kernel: a sum in doubles in its order, no fused multiply-adds (nvcc -fmad=false).
// With one source, from f, it takes y in (-f/2, f/2): y / f is a half by no less than 1/2f > 2^-51, and the
// double is off by less than 2^-52.
#pragma once

#include "ckks/device/programs/block_program.h"
#include "ckks/device/programs/ntt.h"

namespace psm::ckks {

constexpr int kMaxConversions = 32, kMaxConversionSources = SplitSum::kMostReduced;

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
  static constexpr int kColumns = 4, kTargets = 4;
  static constexpr int kMaxThreads = 1 << kColumnBits;
  static constexpr int kPlaces = kLower > 0 ? 2 : 1;  // of a thread at a time
  // Four words more after 2^kLower rows, so that threads meet no bank twice.
  static constexpr uint32_t kRoomOfTarget = (kColumns << kColumnBits) + (kColumns << kUpper);
  static constexpr uint32_t kFactors = kTargets * kRoomOfTarget;  // where they begin, as halves
  static constexpr size_t kSharedWords = kFactors + kTargets * (kMaxConversionSources + 1);

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
    work.bytes += static_cast<uint64_t>(primes.limbs()) * 8 << kColumnBits;
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
      bring_factors(c, first, at.thread, shared);
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

  static constexpr uint32_t room_of(uint32_t row, uint32_t column) {
    return row * kColumns + (row >> kLower) * kColumns + column;
  }

  // Target t of a block's; of those that are not there, the last.
  static constexpr int target_of(const Conversion& c, int first, int t) {
    return first + t < c.targets ? first + t : c.targets - 1;
  }

  constexpr void bring_factors(const Conversion& c, int first, uint32_t thread, uint64_t* shared) const {
    const int all = (c.sources + 1) * kTargets;
    for (int i = static_cast<int>(thread); i < all; i += kMaxThreads) {
      const int target = target_of(c, first, i % kTargets);
      shared[kFactors + i] = Halves(c.matrix[target * (c.sources + 1) + i / kTargets]).word();
    }
  }

  // The coefficients x_t, to shared memory.
  constexpr void convert(const Conversion& c, int first, uint32_t first_column, uint32_t thread,
                         uint64_t* shared) const {
    constexpr uint32_t kApart = kMaxThreads / kColumns;  // rows, from place to place
    for (uint32_t place = thread / kColumns * kRow + first_column + thread % kColumns;
         place < kRow << kColumnBits; place += kPlaces * kApart * kRow) {
      const uint32_t row = place / kRow, column = place % kColumns;
      const uint64_t* y = c.y + place;
      double multiple[kPlaces] = {};
      SplitSum sum[kPlaces][kTargets];
      const auto add = [&](const uint64_t* x, int s) {
        PSM_UNROLL
        for (int t = 0; t < kTargets; ++t) {
          const Halves factor = Halves::of_word(shared[kFactors + s * kTargets + t]);
          PSM_UNROLL
          for (int i = 0; i < kPlaces; ++i) sum[i][t].add(Halves(x[i]), factor);
        }
      };
      for (int s = 0; s < c.sources; ++s, y += uint64_t{1} << log_n) {
        uint64_t x[kPlaces] = {};
        PSM_UNROLL
        for (int i = 0; i < kPlaces; ++i) {
          x[i] = y[i * kApart * kRow];
          multiple[i] += to_double(x[i]) * c.reciprocals[s];
        }
        add(x, s);
      }
      uint64_t u[kPlaces] = {};
      PSM_UNROLL
      for (int i = 0; i < kPlaces; ++i) u[i] = to_word((multiple[i] + 0x1p52) - 0x1p52);
      add(u, c.sources);
      PSM_UNROLL
      for (int t = 0; t < kTargets; ++t) {
        const PrimeView& view = primes.views[prime_of(c, target_of(c, first, t))];
        PSM_UNROLL
        for (int i = 0; i < kPlaces; ++i)
          put_double(shared[t * kRoomOfTarget + room_of(row + static_cast<uint32_t>(i) * kApart, column)],
                     sum[i][t].reduced(view));
      }
    }
  }

  // Layers 0 .. kUpper - 1: rows offset + i 2^kLower.
  constexpr void upper(const Conversion& c, int first, uint32_t first_column, uint32_t thread,
                       uint64_t* shared) const {
    constexpr uint32_t kSize = 1 << kUpper;
    for (uint32_t u = thread; u < kTargets * kColumns << kLower; u += kMaxThreads) {
      const uint32_t column = u % kColumns, offset = u / kColumns % (1 << kLower);
      const uint32_t t = u / (kColumns << kLower);
      const int target = first + static_cast<int>(t);
      if (target >= c.targets) continue;
      uint64_t* const room = shared + t * kRoomOfTarget + column;
      double x[kSize] = {};
      PSM_UNROLL
      for (uint32_t i = 0; i < kSize; ++i) x[i] = double_at(room[room_of(offset + (i << kLower), 0)]);
      forward_layers<kUpper>(x, 1, primes.views[prime_of(c, target)]);
      uint64_t* const out = c.out + (static_cast<uint64_t>(target) << log_n) + first_column + column;
      PSM_UNROLL
      for (uint32_t i = 0; i < kSize; ++i) {
        const uint32_t row = offset + (i << kLower);
        put_double(kLower == 0 ? out[row * kRow] : room[room_of(row, 0)], x[i]);
      }
    }
  }

  // Layers kUpper .. kColumnBits - 1: rows q 2^kLower + i.
  constexpr void lower(const Conversion& c, int first, uint32_t first_column, uint32_t thread,
                       const uint64_t* shared) const {
    constexpr uint32_t kSize = 1 << kLower;
    for (uint32_t u = thread; u < kTargets * kColumns << kUpper; u += kMaxThreads) {
      const uint32_t column = u % kColumns, block = u / kColumns % (1 << kUpper);
      const uint32_t t = u / (kColumns << kUpper);
      const int target = first + static_cast<int>(t);
      if (target >= c.targets) continue;
      const PrimeView& view = primes.views[prime_of(c, target)];
      const uint64_t* const room = shared + t * kRoomOfTarget + room_of(block << kLower, column);
      double x[kSize] = {};
      PSM_UNROLL
      for (uint32_t i = 0; i < kSize; ++i) x[i] = reduce(double_at(room[i * kColumns]), view);
      forward_layers<kLower>(x, (uint64_t{1} << kUpper) + block, view);
      uint64_t* const out = c.out + (static_cast<uint64_t>(target) << log_n) +
                            uint64_t{block << kLower} * kRow + first_column + column;
      PSM_UNROLL
      for (uint32_t i = 0; i < kSize; ++i) put_double(out[i * kRow], x[i]);
    }
  }
};

}  // namespace psm::ckks
