#include "ckks/scheme/encoding/plaintext.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"

namespace psm::ckks {

Plaintext::Plaintext(const Ring& ring, Basis basis, int values_per_limb, Scale scale)
    : Plaintext(ring, basis, values_per_limb, scale,
                Buffer(static_cast<size_t>(basis.limbs()) * static_cast<size_t>(values_per_limb))) {}

Plaintext::Plaintext(const Ring& ring, Basis basis, int values_per_limb, Scale scale, Buffer residues)
    : ring_(&ring),
      basis_(basis),
      values_per_limb_(values_per_limb),
      scale_(scale),
      residues_(std::move(residues)) {
  PSM_CHECK(values_per_limb >= 2 && ring.n() % static_cast<size_t>(values_per_limb) == 0, values_per_limb,
            " values of ", ring.n());
}

int Plaintext::run_length() const { return static_cast<int>(ring_->n()) / values_per_limb_; }

uint64_t* Plaintext::limb(int j) { return residues_.data() + static_cast<size_t>(j) * values_per_limb_; }
const uint64_t* Plaintext::limb(int j) const {
  return residues_.data() + static_cast<size_t>(j) * values_per_limb_;
}

RnsPoly Plaintext::expand() const {
  RnsPoly poly(*ring_, basis_, Form::kNtt);
  const size_t run = static_cast<size_t>(run_length());
  parallel_for(0, basis_.limbs(), [&](size_t index) {
    const int j = static_cast<int>(index);
    for (int v = 0; v < values_per_limb_; ++v) std::fill_n(poly.limb(j) + v * run, run, limb(j)[v]);
  });
  return poly;
}

}  // namespace psm::ckks
