#include <algorithm>
#include <utility>

#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/encoding/plaintext.h"

namespace psm::ckks {

Plaintext Plaintext::in(Memory* memory) const {
  Buffer residues(residues_.size(), memory);
  copy_words(residues, 0, residues_, 0, residues_.size());
  return Plaintext(*ring_, basis_, values_per_limb_, scale_, std::move(residues));
}

size_t Plaintext::bytes() const {
  return static_cast<size_t>(basis_.limbs()) * static_cast<size_t>(values_per_limb_) * sizeof(uint64_t);
}

void Plaintext::multiply_limb(uint64_t* out, const uint64_t* a, int j, size_t begin, size_t size) const {
  const size_t all = static_cast<size_t>(run_length()), run = std::min(all, size);
  const Modulus& q = ring_->modulus(ring_->prime_index(basis_, j));
  const uint64_t* from = limb(j) + begin / all;
  if (run == 1) {
    kernels().multiply(out, a, from, size, q);
  } else if (run >= kLongRun) {
    for (size_t i = 0; i < size; i += run)
      kernels().scale(out + i, a + i, make_multiplier(from[i / run], q), run, q);
  } else if (run >= 8) {
    kernels().run_matrix_product(&out, 1, &a, 1, from, run, size, q, false);
  } else {
    kernels().matrix_product(&out, 1, &a, 1, &from, run, size, q, false);
  }
}

}  // namespace psm::ckks
