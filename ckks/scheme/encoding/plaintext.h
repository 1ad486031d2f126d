// Plaintext: an encoded vector, ready to be added to or multiplied with a ciphertext (NTT form).
//
// A vector of power-of-two period m < N/2 is the polynomial p(Y) in Y = X^(N/2m): it has 2m coefficients, and
// in the (bit-reversed) NTT domain each limb is constant on runs of N/2m residues. Only the 2m run values are
// stored, so such a plaintext is N/2m times smaller, and a product hardly reads any memory for it. A full
// plaintext is the case of runs of length one.
//
// basis: limbs q_0 .. q_level, followed by the special primes of its level's band if it was encoded for a
// double-hoisted transform.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ckks/base/buffer.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/scale.h"

namespace psm::ckks {

// From runs of this length on, preparing the constant for fast products costs less than it saves.
constexpr size_t kLongRun = 64;

class Plaintext {
 public:
  Plaintext() = default;
  // Takes these residues, limb after limb; `values_per_limb` = N for a full plaintext, 2m for one of period m.
  Plaintext(const Ring& ring, Basis basis, int values_per_limb, Scale scale, Buffer residues);
  Plaintext(Plaintext&&) = default;
  Plaintext& operator=(Plaintext&&) = default;

  const Ring& ring() const { return *ring_; }
  Basis basis() const { return basis_; }
  Level level() const { return level_of(basis_); }
  Scale scale() const { return scale_; }
  int values_per_limb() const { return values_per_limb_; }
  int run_length() const { return static_cast<int>(ring_->n()) / values_per_limb_; }
  size_t bytes() const { return residues_.size() * sizeof(uint64_t); }
  Memory* memory() const { return residues_.memory(); }

  const uint64_t* limb(int j) const { return residues_.data() + static_cast<size_t>(j) * values_per_limb_; }
  RnsPoly expand() const;  // the full polynomial, NTT form

  // out = a * the places [begin, begin + size) of limb j; size a power of two of at least 8, begin a multiple of it.
  void multiply_limb(uint64_t* out, const uint64_t* a, int j, size_t begin, size_t size) const;

 private:
  const Ring* ring_ = nullptr;
  Basis basis_{0, 0};
  int values_per_limb_ = 0;
  Scale scale_;
  Buffer residues_;
};

}  // namespace psm::ckks
