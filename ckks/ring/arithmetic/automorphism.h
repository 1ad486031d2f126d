// Automorphisms X -> X^g of Z[X] / (X^N + 1), g odd. They rotate and conjugate slots.
//
// Slot j of a plaintext is its value at zeta^(5^j), zeta a complex primitive 2N-th root of unity, and the conjugate of
// slot j is its value at zeta^(-5^j). So g = 5^k moves slot j + k to slot j, and g = 2N - 1 conjugates.
//
// On a limb in NTT form (A[j] = a(psi^(2 brv(j) + 1))) the automorphism only permutes residues:
//     out[j] = a[j'],   2 brv(j') + 1 = g * (2 brv(j) + 1)  mod 2N.
// Write j = 8J + i: then 2 brv(j) + 1 = 2 brv(J) + 1 + (N/4) brv_3(i), and modulo N/4 the right side does not
// depend on i. So aligned blocks of 8 residues move as wholes, J -> J', and inside a block
//     brv_3(i') = g * brv_3(i) + s  mod 8
// with a shift s that depends on J. A table of N/8 entries (J', s) describes it, and no gather is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

using GaloisElement = uint64_t;  // odd, in [1, 2N)

// The element that moves slot j + k to slot j (a rotation to the left by k); any sign of k, modulo N/2 slots.
GaloisElement rotation_element(int64_t k, int log_n);
// The element that undoes g.
GaloisElement inverse_element(GaloisElement g, int log_n);

class AutomorphismTable {
 public:
  // 3 <= log_n <= 17.
  AutomorphismTable(GaloisElement g, int log_n);
  AutomorphismTable(const AutomorphismTable&) = delete;
  AutomorphismTable& operator=(const AutomorphismTable&) = delete;

  size_t n() const { return size_t{1} << log_n_; }

  // For the kernels; valid as long as the table.
  operator AutomorphismView() const { return tile(0, n()); }
  // The places [begin, begin + size) of the result, size a power of two >= 8 and begin a multiple of it. They
  // come from `size` places from source_begin(begin, size) on: the low bits of an odd exponent decide those
  // of its multiple by g, and in bit-reversed order they are the high bits of the place.
  AutomorphismView tile(size_t begin, size_t size) const {
    return {size, blocks_.data() + begin / 8, static_cast<uint32_t>(source_begin(begin, size) / 8),
            permutations_};
  }
  size_t source_begin(size_t begin, size_t size) const { return blocks_[begin / 8] / size * size; }

 private:
  int log_n_;
  std::vector<uint32_t> blocks_;
  alignas(64) uint64_t permutations_[8][8];
};

// Returns the table for g, which is built at its first use and kept. Thread-safe.
std::shared_ptr<const AutomorphismTable> automorphism_table(GaloisElement g, int log_n);

}  // namespace psm::ckks
