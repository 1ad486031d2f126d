#include "ckks/ring/packed_poly.h"

#include <algorithm>
#include <atomic>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/arithmetic/packing.h"

namespace psm::ckks {

constexpr size_t kReadable = 64;  // bytes that may be read after a limb

size_t packed_bytes(const Ring& ring, Basis basis) {
  size_t bytes = 0;
  for (int j = 0; j < basis.limbs(); ++j)
    bytes += packed_bytes(ring.n(), ring.modulus(ring.prime_index(basis, j)).value);
  return bytes;
}

PackedPoly::PackedPoly(const Ring& ring, Basis basis, Memory* memory) : ring_(&ring), basis_(basis) {
  for (int j = 0; j < limbs(); ++j)
    begin_.push_back(begin_.back() + packed_bytes(ring.n(), ring.modulus(prime_index(j)).value));
  data_ = Buffer((begin_.back() + kReadable) / sizeof(uint64_t) + 1, memory);
  if (memory == nullptr) std::fill_n(data() + begin_.back(), kReadable, 0);
}

PackedPoly PackedPoly::in(Memory* memory) const {
  PackedPoly copy(*ring_, basis_, memory);
  copy_words(copy.data_, 0, data_, 0, data_.size());
  return copy;
}

PackedPoly::PackedPoly(const RnsPoly& poly) : PackedPoly(poly.ring(), poly.basis(), nullptr) {
  PSM_CHECK(poly.form() == Form::kNtt);
  parallel_for(0, limbs(), [&](int j) {
    pack_residues(data() + begin_[j], poly.limb(j), poly.n(), poly.modulus(j).value);
  });
}

PackedPoly::PackedPoly(const Ring& ring, Basis basis, FunctionRef<void(int, uint64_t*)> fill)
    : PackedPoly(ring, basis, nullptr) {
  parallel_for(0, limbs(), [&](int j) {
    Buffer residues(ring_->n());
    fill(j, residues.data());
    pack_residues(data() + begin_[j], residues.data(), ring_->n(), ring_->modulus(prime_index(j)).value);
  });
}

PackedPoly PackedPoly::read(const Ring& ring, Basis basis, FunctionRef<void(uint8_t*, size_t)> read) {
  PackedPoly poly(ring, basis, nullptr);
  read(poly.data(), poly.bytes());
  return poly;
}

bool PackedPoly::in_range() const {
  std::atomic<bool> all = true;
  parallel_for(0, limbs(), [&](int j) {
    Buffer residues(ring_->n());
    const uint64_t q = ring_->modulus(prime_index(j)).value;
    if (!unpack_residues(residues.data(), limb(j), ring_->n(), q)) all = false;
  });
  return all;
}

RnsPoly PackedPoly::unpack() const {
  RnsPoly poly(*ring_, basis_, Form::kNtt);
  parallel_for(0, limbs(), [&](int j) {
    const bool good = unpack_residues(poly.limb(j), limb(j), ring_->n(), poly.modulus(j).value);
    PSM_CHECK(good, "a residue is not below its prime");
  });
  return poly;
}

}  // namespace psm::ckks
