// A ciphertext that waits.
#pragma once

#include <array>

#include "ckks/ring/packed_poly.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::ckks {

// Its residues are packed to the bits of their primes (ckks/ring/packed_poly.h), two
// thirds of the unpacked size.
class PackedCiphertext {
 public:
  explicit PackedCiphertext(const Ciphertext& x)
      : polys_{PackedPoly(x.c[0]), PackedPoly(x.c[1])}, scale_(x.scale()), owner_(x.fingerprint) {}

  // The same residues, scale and owner.
  Ciphertext unpack() const { return {{polys_[0].unpack(), polys_[1].unpack()}, scale_, owner_}; }

  size_t bytes() const { return polys_[0].bytes() + polys_[1].bytes(); }

 private:
  std::array<PackedPoly, 2> polys_;
  Scale scale_;
  Fingerprint owner_;
};

}  // namespace psm::ckks
