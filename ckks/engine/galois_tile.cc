#include "ckks/engine/galois_tile.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {

void galois_tile(const KeySwitcher& switcher, const Hoisted& a, const GaloisStep& step, int j, size_t begin,
                 size_t size, uint64_t* c0, uint64_t* c1) {
  PSM_CHECK(size <= kMaxTile && begin % size == 0, "tile ", begin, " ", size);
  const Ciphertext& source = *a.source;
  const Ring& ring = switcher.context().ring();
  const Kernels& k = kernels();
  const bool q_limb = j <= a.level();
  const int p_count = switcher.context().p_count(a.level());
  if (step.key == nullptr) {
    for (int i : {0, 1}) {
      uint64_t* out = i == 0 ? c0 : c1;
      if (q_limb) {
        k.scale(out, source.c[i].limb(j) + begin, switcher.converters().p_product(j, p_count), size,
                ring.q(j));
      } else {
        std::fill_n(out, size, 0);
      }
    }
    return;
  }
  const AutomorphismTable& table = *step.table;
  const size_t from = table.source_begin(begin, size);
  alignas(64) uint64_t k0[kMaxTile], k1[kMaxTile];
  switcher.inner_product(a.digits, *step.key, j, from, from + size, k0, k1);
  if (q_limb)
    k.scale_add(k0, source.c[0].limb(j) + from, switcher.converters().p_product(j, p_count), size, ring.q(j));
  k.automorphism(c0, k0, table.tile(begin, size));
  k.automorphism(c1, k1, table.tile(begin, size));
}

}  // namespace psm::ckks
