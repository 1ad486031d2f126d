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

struct KeyRows : KeyOperands<kMaxDigits>, OfRows {
  static constexpr const char* kName = "key product and ntt rows";
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
            put_double(room[0], reduce(x[0], v));
            put_double(room[rows.apart()], reduce(x[1], v));
          });
    } else if constexpr (kPhase == 1) {
      part.lower<NttDirection::kInverse>();
    } else {
      const uint64_t to = rows.poly(at) * static_cast<uint32_t>(count) + s;
      part.inverse_upper(out + (to << log_n) + rows.begin(at));
    }
  }
};

struct DivideRows : KeyOperands<kMaxDigits>, OfRows {
  static constexpr const char* kName = "ntt rows and divide";

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
      part.lower<NttDirection::kForward>();
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
              const double remainder = reduce(double_at(room[i * rows.apart()]), v);
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
