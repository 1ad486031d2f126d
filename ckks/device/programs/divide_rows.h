// The rows of the transforms around a division by D, with what comes before and after them. x_0, x_1 is what is
// divided: polynomials in memory, or products with keys (key_operands.h) that are made where they are needed and
// never stored.
//
//     KeyRows      of the limbs modulo the primes of D: x_i, then the rows of the inverse transform
//     DivideRows   of the others: the rows of the forward transform of r_i = [x_i]_D (ConvertColumns), then
//
//         out_i = sigma_g( (x_i - r_i) / D + a_i ),
//
// results written where sigma_g takes them. A block has the same rows of both polynomials, so that digits, keys
// and roots are read once.
#pragma once

#include "ckks/device/programs/block_program.h"
#include "ckks/device/programs/key_operands.h"
#include "ckks/device/programs/ntt.h"

namespace psm::ckks {

// A block's share of one polynomial or two: 8 rows together, 16 threads each.
struct RowBlock {
  static constexpr int kMaxThreads = 128;
  static constexpr uint32_t kLogRowsOfBlock = 3;
  static constexpr size_t kSharedWords = RowPart::kPaddedRow << kLogRowsOfBlock;

  uint32_t log_rows, log_here;  // of a limb; of a polynomial in a block
  uint32_t log_polys;

  constexpr RowBlock(int log_n, int polys)
      : log_rows(static_cast<uint32_t>(log_n - kLogRow)),
        log_here(log_rows < log_most(polys) ? log_rows : log_most(polys)),
        log_polys(polys == 2 ? 1 : 0) {}
  static constexpr uint32_t log_most(int polys) { return polys == 2 ? kLogRowsOfBlock - 1 : kLogRowsOfBlock; }
  constexpr uint32_t threads() const { return RowPart::kLanes << (log_here + log_polys); }
  constexpr uint32_t log_parts() const { return log_rows - log_here; }  // blocks of a limb

  // A block's limb and its first row; a thread's polynomial and its row there.
  constexpr uint32_t limb(Place at) const { return at.block >> log_parts(); }
  constexpr uint32_t first_row(Place at) const {
    return (at.block & ((uint32_t{1} << log_parts()) - 1)) << log_here;
  }
  constexpr uint32_t poly(Place at) const { return at.thread / RowPart::kLanes >> log_here; }
  constexpr uint32_t row(Place at) const {
    return first_row(at) + (at.thread / RowPart::kLanes & ((uint32_t{1} << log_here) - 1));
  }
  // Where the thread's lane of its row begins in a limb.
  constexpr uint32_t begin(Place at) const { return row(at) * kRow + at.thread % RowPart::kLanes; }
  constexpr RowPart part(Place at, const PrimeView* view, uint64_t* shared) const {
    return {shared + at.thread / RowPart::kLanes * RowPart::kPaddedRow, at.thread % RowPart::kLanes,
            (uint64_t{1} << log_rows) + row(at), view};
  }
  // The block's places, shared out among its threads: make(place, room, value) and then put(place, room, value), two
  // places at a time, so that what the second one reads need not wait for what the first one writes. Polynomial i of a
  // place stands at room[i * apart()].
  constexpr uint32_t apart() const { return RowPart::kPaddedRow << log_here; }
  template <class Make, class Put>
  constexpr void for_each_place(Place at, uint64_t* shared, const Make& make, const Put& put) const {
    const uint32_t begin = first_row(at) * kRow;
    for (uint32_t k = at.thread; k < uint32_t{kRow} << log_here; k += 2 * threads()) {
      double value[2][2] = {};
      uint64_t* room[2] = {};
      PSM_UNROLL
      for (uint32_t i = 0; i < 2; ++i) {
        const uint32_t place = k + i * threads();
        room[i] = shared + place / kRow * RowPart::kPaddedRow + RowPart::padded(place % kRow);
        make(begin + place, room[i], value[i]);
      }
      PSM_UNROLL
      for (uint32_t i = 0; i < 2; ++i) put(begin + k + i * threads(), room[i], value[i]);
    }
  }
};

struct KeyRows : KeyOperands<kMaxDigits> {
  static constexpr const char* kName = "key product and ntt rows";
  static constexpr int kPhases = 3;
  static constexpr int kMaxThreads = RowBlock::kMaxThreads;
  static constexpr size_t kSharedWords = RowBlock::kSharedWords;
  static constexpr int kMaxLimbs = 16;

  KeySource source;
  int count;
  uint8_t limb[kMaxLimbs];
  uint64_t* out;  // limb[s] of polynomial i at (i count + s) N, doubles, for NttColumns<kInverse>

  constexpr RowBlock block() const { return {log_n, 2}; }
  uint32_t blocks() const { return static_cast<uint32_t>(count) << block().log_parts(); }
  uint32_t threads() const { return block().threads(); }
  Work work() const {
    uint64_t words = 0, products = 0;
    for (int s = 0; s < count; ++s) {
      const uint64_t added = limb[s] < primes.q ? source.addends() : 0;
      words += source.digits + added + 2 + 1;  // results, and roots
      products += 2 * uint64_t{source.digits} + added + kLogRow;
    }
    return {(words * 8 << log_n) + key_bytes, products << log_n};
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t* shared) const {
    const RowBlock rows = block();
    const uint32_t s = rows.limb(at);
    const int j = limb[s];
    const PrimeView& view = primes.views[primes.prime(j)];
    const RowPart part = rows.part(at, &view, shared);
    if constexpr (kPhase == 0) {
      const PrimeView v = view;
      rows.for_each_place(
          at, shared,
          [&](uint64_t place, const uint64_t*, double(&x)[2]) { products(source, j, place, v, x); },
          [&](uint64_t, uint64_t* room, const double(&x)[2]) {
            ntt_program::put_double(room[0], reduce(x[0], v));
            ntt_program::put_double(room[rows.apart()], reduce(x[1], v));
          });
    } else if constexpr (kPhase == 1) {
      part.inverse_lower();
    } else {
      const uint64_t to = rows.poly(at) * static_cast<uint32_t>(count) + s;
      part.inverse_upper(out + (to << log_n) + rows.begin(at));
    }
  }
};

struct DivideRows : KeyOperands<kMaxDigits> {
  static constexpr const char* kName = "ntt rows and divide";
  static constexpr int kPhases = 3;
  static constexpr int kMaxThreads = RowBlock::kMaxThreads;
  static constexpr size_t kSharedWords = RowBlock::kSharedWords;

  int polys, limbs;
  const uint64_t* r;      // limb j of polynomial i at (i limbs + j) N, from ConvertColumns
  const double* inverse;  // 1/D modulo the prime of limb j, centred
  const uint64_t* x[2];   // null: what `source` has
  KeySource source;
  const uint64_t* a[2];     // or null
  Permutation destination;  // of sigma_g's inverse: where a residue goes
  uint64_t* out[2];

  constexpr RowBlock block() const { return {log_n, polys}; }
  uint32_t blocks() const { return static_cast<uint32_t>(limbs) << block().log_parts(); }
  uint32_t threads() const { return block().threads(); }
  Work work() const {
    const auto p = static_cast<uint64_t>(polys);
    uint64_t words = 2 * p + 1, products = p * (1 + kLogRow / 2);  // remainders, results and roots
    for (int i = 0; i < polys; ++i) words += a[i] != nullptr;
    if (x[0] != nullptr) {
      words += p;
    } else {
      words += source.digits + source.addends();
      products += 2 * uint64_t{source.digits} + source.addends();
    }
    const auto made = static_cast<uint64_t>(limbs);
    return {(made * words * 8 << log_n) + key_bytes, made * products << log_n};
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t* shared) const {
    const RowBlock rows = block();
    const auto j = static_cast<int>(rows.limb(at));
    const PrimeView& view = primes.views[primes.prime(j)];
    const RowPart part = rows.part(at, &view, shared);
    if constexpr (kPhase == 0) {
      const uint64_t from = rows.poly(at) * static_cast<uint32_t>(limbs) + rows.limb(at);
      part.forward_upper(r + (from << log_n) + rows.begin(at));
    } else if constexpr (kPhase == 1) {
      part.forward_lower();
    } else {
      const PrimeView v = view;
      const double factor = inverse[j];
      const uint64_t limb = static_cast<uint64_t>(j) << log_n;
      rows.for_each_place(
          at, shared,
          [&](uint64_t place, const uint64_t* room, double(&value)[2]) {
            if (x[0] == nullptr) products(source, j, place, v, value);
            PSM_UNROLL
            for (int i = 0; i < 2; ++i) {
              if (i >= polys) continue;
              if (x[0] != nullptr) value[i] = to_double(x[i][limb + place]);
              const double remainder = reduce(ntt_program::double_at(room[i * rows.apart()]), v);
              value[i] = multiply(value[i] - remainder, factor, v);
              if (a[i] != nullptr) value[i] += to_double(a[i][limb + place]);
            }
          },
          [&](uint64_t place, const uint64_t*, const double(&value)[2]) {
            const uint64_t to = limb + destination.source(place);
            PSM_UNROLL
            for (int i = 0; i < 2; ++i)
              if (i < polys) out[i][to] = to_word(canonical(value[i], v));
          });
    }
  }
};

}  // namespace psm::ckks
