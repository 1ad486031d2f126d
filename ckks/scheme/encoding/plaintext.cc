#include "ckks/scheme/encoding/plaintext.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {

Plaintext::Plaintext(const Ring& ring, Basis basis, int values_per_limb, Scale scale, Buffer residues)
    : ring_(&ring),
      basis_(basis),
      values_per_limb_(values_per_limb),
      scale_(scale),
      residues_(std::move(residues)) {
  PSM_CHECK(values_per_limb >= 2 && ring.n() % static_cast<size_t>(values_per_limb) == 0, values_per_limb,
            " values of ", ring.n());
}

RnsPoly Plaintext::expand() const {
  RnsPoly poly(*ring_, basis_, Form::kNtt);
  const size_t run = static_cast<size_t>(run_length());
  parallel_for(0, basis_.limbs(), [&](int j) {
    for (int v = 0; v < values_per_limb_; ++v) std::fill_n(poly.limb(j) + v * run, run, limb(j)[v]);
  });
  return poly;
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
