#include "ckks/ring/packed_poly.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/arithmetic/packing.h"

namespace psm {
namespace {

constexpr size_t kReadable = 64;  // bytes that may be read after a limb

}  // namespace

size_t packed_bytes(const Ring& ring, Basis basis) {
  size_t bytes = 0;
  for (int j = 0; j < basis.limbs(); ++j)
    bytes += packed_bytes(ring.n(), ring.modulus(ring.prime_index(basis, j)).value);
  return bytes;
}

PackedPoly::PackedPoly(const RnsPoly& poly) : ring_(&poly.ring()), basis_(poly.basis()) {
  PSM_CHECK(poly.form() == Form::kNtt);
  for (int j = 0; j < limbs(); ++j)
    begin_.push_back(begin_.back() + packed_bytes(poly.n(), poly.modulus(j).value));
  data_ = Buffer((begin_.back() + kReadable) / sizeof(uint64_t) + 1);
  uint8_t* out = reinterpret_cast<uint8_t*>(data_.data());
  parallel_for(0, static_cast<size_t>(limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    pack_residues(out + begin_[index], poly.limb(j), poly.n(), poly.modulus(j).value);
  });
  std::fill_n(out + begin_.back(), kReadable, 0);
}

RnsPoly PackedPoly::unpack() const {
  RnsPoly poly(*ring_, basis_, Form::kNtt);
  for (int j = 0; j < limbs(); ++j) {
    const bool good = unpack_residues(poly.limb(j), limb(j), poly.n(), poly.modulus(j).value);
    PSM_CHECK(good, "limb ", j);
  }
  return poly;
}

}  // namespace psm
