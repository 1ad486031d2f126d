// Seeds in place of uniform polynomials: the public half `a` of a key or a ciphertext.
#pragma once

#include "ckks/base/random/chacha.h"
#include "ckks/ring/packed_poly.h"

namespace psm::ckks {

// The public half of a key or a ciphertext (digit 0): limb by limb the uniform residues of the ChaCha20
// stream with the seed as key and digit 2^32 + prime as nonce, `prime` the index of the limb's prime in the
// ring. So the seed separates keys and ciphertexts, the nonce digits and limbs. The data are public, so the
// time may depend on them.
void expand_seed(const Seed& seed, int digit, RnsPoly& a);
PackedPoly expand_seed_packed(const Seed& seed, int digit, const Ring& ring, Basis basis);

}  // namespace psm::ckks
