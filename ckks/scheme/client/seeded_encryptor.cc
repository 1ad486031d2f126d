#include "ckks/scheme/client/seeded_encryptor.h"

#include "ckks/base/parallel.h"
#include "ckks/base/secret.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {

SeededEncryptor::SeededEncryptor(const SecretKey& secret) : secret_(secret) {}

SeededCiphertext SeededEncryptor::encrypt(const Plaintext& plaintext) {
  const Ring& ring = secret_.context().ring();
  const Basis basis{plaintext.level() + 1, 0};
  SeededCiphertext out{seeds_.fresh(), plaintext.expand(), plaintext.scale(), secret_.fingerprint()};
  RnsPoly a(ring, basis, Form::kNtt);
  expand_seed(out.seed, 0, a);
  error_random_.renew();
  const SecretVector<int32_t> error = sample_error(ring.n(), error_random_);
  const Kernels& k = kernels();
  parallel_for(0, basis.limbs(), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = ring.q(j);
    Buffer noise = Buffer::zeroising(ring.n()), product = Buffer::zeroising(ring.n());
    signed_to_residues(noise.data(), error.data(), ring.n(), m);
    k.ntt_forward(noise.data(), noise.data(), ring.ntt(j));
    k.multiply(product.data(), a.limb(j), secret_.poly().limb(j), ring.n(), m);
    k.subtract(noise.data(), noise.data(), product.data(), ring.n(), m);
    k.add(out.c0.limb(j), out.c0.limb(j), noise.data(), ring.n(), m);
  });
  return out;
}

}  // namespace psm::ckks
