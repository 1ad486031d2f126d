#include "ckks/scheme/public/seed_expansion.h"

#include "ckks/base/parallel.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {
namespace {

void expand_limb(const Seed& seed, int digit, const Ring& ring, int prime, uint64_t* residues) {
  ChaChaStream stream(seed, static_cast<uint64_t>(digit) << 32 | static_cast<uint64_t>(prime));
  sample_uniform(residues, ring.n(), ring.modulus(prime), stream);
}

}  // namespace

void expand_seed(const Seed& seed, int digit, RnsPoly& a) {
  parallel_for(0, a.limbs(), [&](size_t index) {
    const int j = static_cast<int>(index);
    expand_limb(seed, digit, a.ring(), a.prime_index(j), a.limb(j));
  });
  a.set_form(Form::kNtt);
}

PackedPoly expand_seed_packed(const Seed& seed, int digit, const Ring& ring, Basis basis) {
  return {ring, basis, [&](int j, uint64_t* residues) {
            expand_limb(seed, digit, ring, ring.prime_index(basis, j), residues);
          }};
}

}  // namespace psm::ckks
