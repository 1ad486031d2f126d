// Digits of key switching: a polynomial modulo Q_l taken modulo each D_i and extended to Q_l P.
#pragma once

#include <cstdint>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

// The digits of a polynomial, which is borrowed: limbs of a digit's own primes are the polynomial's, in NTT
// form.
struct Digits {
  Basis basis;
  int count = 0;
  bool transformed = false;            // whether the other limbs are in NTT form too
  std::vector<Buffer> extensions;      // one a digit
  std::vector<const uint64_t*> limbs;  // limb j of digit i at j * count + i

  const uint64_t* const* limb(int j) const { return limbs.data() + static_cast<size_t>(j) * count; }
};

// Room for the digits of c, in its memory: limbs of a digit's own primes are in place, its extension holds those
// of all other primes, in their order, and is undefined.
Digits room_for_digits(const Context& context, const RnsPoly& c, int p_count);

}  // namespace psm::ckks
