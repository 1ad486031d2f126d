#include "ckks/scheme/public/ciphertext.h"

#include "ckks/base/parallel.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {

void expand_limb(const Seed& seed, int digit, const Ring& ring, int prime, uint64_t* residues) {
  ChaChaStream stream(seed, static_cast<uint64_t>(digit) << 32 | static_cast<uint64_t>(prime));
  sample_uniform(residues, ring.n(), ring.modulus(prime), stream);
}

void expand_seed(const Seed& seed, int digit, RnsPoly& a) {
  parallel_for(0, a.limbs(), [&](int j) { expand_limb(seed, digit, a.ring(), a.prime_index(j), a.limb(j)); });
  a.set_form(Form::kNtt);
}

Ciphertext expand(SeededCiphertext&& seeded) {
  RnsPoly a(seeded.c0.ring(), seeded.c0.basis(), Form::kNtt);
  expand_seed(seeded.seed, 0, a);
  return {{std::move(seeded.c0), std::move(a)}, seeded.scale, seeded.fingerprint};
}

}  // namespace psm::ckks
