#include "ckks/scheme/public/ciphertext.h"

#include "ckks/base/parallel.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {

void expand_limb(const Seed& seed, int digit, const Ring& ring, int prime, uint64_t* residues) {
  const uint64_t stream = static_cast<uint64_t>(digit) << 32 | static_cast<uint64_t>(prime);
  sample_uniform(residues, ring.n(), ring.modulus(prime), seed, stream);
}

RnsPoly expand_seed(const Seed& seed, int digit, const Ring& ring, Basis basis) {
  RnsPoly a(ring, basis, Form::kNtt);
  parallel_for(0, a.limbs(), [&](int j) { expand_limb(seed, digit, ring, a.prime_index(j), a.limb(j)); });
  return a;
}

Ciphertext expand(SeededCiphertext&& seeded) {
  RnsPoly a = expand_seed(seeded.seed, 0, seeded.c0.ring(), seeded.c0.basis());
  return {{std::move(seeded.c0), std::move(a)}, seeded.scale, seeded.fingerprint};
}

}  // namespace psm::ckks
