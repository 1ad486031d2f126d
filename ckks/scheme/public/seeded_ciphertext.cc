#include "ckks/scheme/public/seeded_ciphertext.h"

#include <utility>

namespace psm::ckks {

Ciphertext expand(SeededCiphertext&& seeded) {
  RnsPoly a(seeded.c0.ring(), seeded.c0.basis(), Form::kNtt);
  expand_seed(seeded.seed, 0, a);
  return {{std::move(seeded.c0), std::move(a)}, seeded.scale, seeded.fingerprint};
}

}  // namespace psm::ckks
