// PackedPoly: a polynomial in NTT form whose residues are packed (packing.h). Keys consist of these. Kernels
// read it (Kernels::packed_inner_product_pair); nothing changes it.
#pragma once

#include <cstdint>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/function_ref.h"
#include "ckks/ring/poly.h"

namespace psm::ckks {

size_t packed_bytes(const Ring& ring, Basis basis);

class PackedPoly {
 public:
  PackedPoly() = default;
  explicit PackedPoly(const RnsPoly& poly);
  // Room for residues, which are undefined.
  PackedPoly(const Ring& ring, Basis basis, Memory* memory);
  // fill(j, residues) makes the n residues of limb j. It is called for all limbs in any order, in parallel.
  PackedPoly(const Ring& ring, Basis basis, FunctionRef<void(int, uint64_t*)> fill);
  // Reads the polynomial as files have it: read(bytes, count) is called once for all bytes.
  static PackedPoly read(const Ring& ring, Basis basis, FunctionRef<void(uint8_t*, size_t)> read);
  // Copy in another memory.
  PackedPoly in(Memory* memory) const;
  // Whether every residue is below its prime, as unpack() demands. Bytes from outside may have others.
  bool in_range() const;
  RnsPoly unpack() const;

  Basis basis() const { return basis_; }
  int limbs() const { return basis_.limbs(); }
  const Ring& ring() const { return *ring_; }
  int prime_index(int j) const { return ring_->prime_index(basis_, j); }
  size_t bytes() const { return begin_.back(); }
  Memory* memory() const { return data_.memory(); }
  // Limb j, packed_bytes(n, prime) bytes; another 64 may be read after them.
  const uint8_t* limb(int j) const { return data() + begin_[j]; }
  size_t limb_bytes(int j) const { return begin_[j + 1] - begin_[j]; }
  // The first byte of residue i of limb j, i a multiple of 8.
  const uint8_t* residues(int j, size_t i) const {
    return limb(j) + i / 8 * static_cast<size_t>(ring_->modulus(prime_index(j)).bits);
  }

 private:
  const uint8_t* data() const { return reinterpret_cast<const uint8_t*>(data_.data()); }
  uint8_t* data() { return reinterpret_cast<uint8_t*>(data_.data()); }

  const Ring* ring_ = nullptr;
  Basis basis_;
  std::vector<size_t> begin_{0};
  Buffer data_;
};

}  // namespace psm::ckks
