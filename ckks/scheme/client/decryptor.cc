#include "ckks/scheme/client/decryptor.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm {

void require_owner(const Ciphertext& ciphertext, const SecretKey& secret) {
  if (ciphertext.fingerprint.parameters != secret.fingerprint().parameters) {
    throw Error("the ciphertext belongs to other parameters than the secret key; use the files of one run");
  }
  if (ciphertext.fingerprint.key != secret.fingerprint().key) {
    throw Error("the ciphertext belongs to another key pair; decrypt it with the key it was encrypted for");
  }
}

Decryptor::Decryptor(const SecretKey& secret, const Encoder& encoder) : secret_(secret), encoder_(encoder) {}

Plaintext Decryptor::decrypt_to_plaintext(const Ciphertext& ciphertext) const {
  require_owner(ciphertext, secret_);
  // The decoder reads no more limbs than it needs for 120 bits of message.
  const Ring& ring = secret_.context().ring();
  const int limbs = std::min(ciphertext.level() + 1, Encoder::kDecodedLimbs);
  Plaintext out(ring, {limbs, 0}, static_cast<int>(ring.n()), ciphertext.scale);
  parallel_for(0, static_cast<size_t>(limbs), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = ring.q(j);
    std::copy_n(ciphertext.c[0].limb(j), ring.n(), out.limb(j));
    kernels().multiply_add(out.limb(j), ciphertext.c[1].limb(j), secret_.poly().limb(j), ring.n(), m);
  });
  return out;
}

std::vector<std::complex<double>> Decryptor::decrypt(const Ciphertext& ciphertext) const {
  return encoder_.decode(decrypt_to_plaintext(ciphertext));
}

}  // namespace psm
