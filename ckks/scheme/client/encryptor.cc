#include "ckks/scheme/client/encryptor.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/secret.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {
namespace {

// Loops go over the limbs and places of the encryptor's ring.
void check_plaintext(const Plaintext& plaintext, const Ring& ring) {
  PSM_CHECK(&plaintext.ring() == &ring, "a plaintext of another ring");
  PSM_CHECK(plaintext.basis().p == 0, "a plaintext with limbs of special primes");
}

}  // namespace

Encryptor::Encryptor(const Context& context, const PublicKey& key) : context_(context), key_(key) {
  if (key.fingerprint.parameters != context.fingerprint()) {
    throw Error("the public key belongs to other parameters; use the key that was made with these");
  }
}

Ciphertext Encryptor::encrypt(const Plaintext& plaintext) {
  const Ring& ring = context_.ring();
  check_plaintext(plaintext, ring);
  const Basis basis{plaintext.level() + 1, 0};
  Ciphertext out(ring, basis, plaintext.scale(), key_.fingerprint);
  random_.renew();
  const SecretVector<int32_t> v = sample_ternary(ring.n(), random_);
  const SecretVector<int32_t> e0 = sample_error(ring.n(), random_);
  const SecretVector<int32_t> e1 = sample_error(ring.n(), random_);
  const RnsPoly message = plaintext.expand();
  const Kernels& k = kernels();
  parallel_for(0, basis.limbs(), [&](int j) {
    const Modulus& m = ring.q(j);
    Buffer secret = Buffer::zeroising(ring.n()), noise = Buffer::zeroising(ring.n());
    const auto load = [&](Buffer& limb, const SecretVector<int32_t>& values) {
      signed_to_residues(limb.data(), values.data(), ring.n(), m);
      k.ntt_forward(limb.data(), limb.data(), ring.ntt(j));
    };
    load(secret, v);
    load(noise, e0);
    k.multiply_add(noise.data(), secret.data(), key_.b.limb(j), ring.n(), m);
    k.add(out.c[0].limb(j), noise.data(), message.limb(j), ring.n(), m);
    load(noise, e1);
    k.multiply_add(noise.data(), secret.data(), key_.a.limb(j), ring.n(), m);
    std::copy(noise.begin(), noise.end(), out.c[1].limb(j));
  });
  return out;
}

SeededCiphertext SeededEncryptor::encrypt(const Plaintext& plaintext) {
  const Ring& ring = secret_.context().ring();
  check_plaintext(plaintext, ring);
  const Basis basis{plaintext.level() + 1, 0};
  SeededCiphertext out{fresh_seed(), plaintext.expand(), plaintext.scale(), secret_.fingerprint()};
  const RnsPoly a = expand_seed(out.seed, 0, ring, basis);
  const RnsPoly zero = encrypt_zero(a, secret_.poly(), error_random_);
  parallel_for(0, basis.limbs(), [&](int j) {
    kernels().add(out.c0.limb(j), out.c0.limb(j), zero.limb(j), ring.n(), ring.q(j));
  });
  return out;
}

}  // namespace psm::ckks
