// Level and Scale: what every ciphertext and plaintext carries beside its residues.
//
// Level l: residues modulo Q_l = q_0 .. q_l, so l + 1 limbs. A plain int, because it indexes primes and
// counts limbs.
//
// Scale: the factor between a message and the integer polynomial that encodes it. It is read as the double
// that it is, but no double becomes a scale by accident: what declares one names it, Scale(2.0). So a value,
// an error or a prime never stands where a scale is meant.
#pragma once

#include <cstdint>

namespace psm::ckks {

using Level = int;

class Scale {
 public:
  constexpr Scale() = default;  // 0: none
  constexpr explicit Scale(double value) : value_(value) {}
  constexpr operator double() const { return value_; }

 private:
  double value_ = 0;
};

// Of the product of two messages.
constexpr Scale operator*(Scale a, Scale b) { return Scale(double{a} * double{b}); }

// After a division by the prime q, and before the one that leaves `scale`.
constexpr Scale after_rescale(Scale scale, uint64_t q) { return Scale(scale / static_cast<double>(q)); }
constexpr Scale before_rescale(Scale scale, uint64_t q) { return Scale(scale * static_cast<double>(q)); }

}  // namespace psm::ckks
