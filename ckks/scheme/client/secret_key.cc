#include "ckks/scheme/client/secret_key.h"

#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/secrecy.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {

RnsPoly secret_poly(const Ring& ring, Basis basis, const SecretVector<int32_t>& coefficients) {
  RnsPoly poly = RnsPoly::secret(ring, basis, Form::kCoefficient);
  parallel_for(0, poly.limbs(), [&](int j) {
    signed_to_residues(poly.limb(j), coefficients.data(), coefficients.size(), poly.modulus(j));
  });
  to_ntt(poly);
  return poly;
}

RnsPoly encrypt_zero(const RnsPoly& a, const RnsPoly& s, SecureRandom& random) {
  const Ring& ring = a.ring();
  RnsPoly b(ring, a.basis(), Form::kNtt);
  random.renew();
  const SecretVector<int32_t> error = sample_error(ring.n(), random);
  parallel_for(0, a.limbs(), [&](int j) {
    const int prime = a.prime_index(j);
    const int s_limb = ring.limb_of(s.basis(), prime);
    const Modulus& m = ring.modulus(prime);
    Buffer noise = Buffer::zeroising(ring.n()), product = Buffer::zeroising(ring.n());
    signed_to_residues(noise.data(), error.data(), ring.n(), m);
    kernels().ntt_forward(noise.data(), noise.data(), ring.ntt(prime));
    kernels().multiply(product.data(), a.limb(j), s.limb(s_limb), ring.n(), m);
    kernels().subtract(b.limb(j), noise.data(), product.data(), ring.n(), m);
  });
  return b;
}

SecretKey::SecretKey(const Context& context, SecretVector<int32_t> coefficients, uint64_t key_fingerprint)
    : context_(&context),
      coefficients_(std::move(coefficients)),
      fingerprint_{context.fingerprint(), key_fingerprint} {
  if (coefficients_.size() != static_cast<size_t>(context.n())) {
    throw Error(message("the secret key has ", coefficients_.size(),
                        " coefficients, but the ring has degree ", context.n(),
                        "; use the key that belongs to these parameters"));
  }
  // No branch on a coefficient: what is out of range sets a bit.
  uint32_t wrong = 0, weight = 0;
  for (const int32_t v : coefficients_) {
    const uint32_t above = static_cast<uint32_t>(v) + 1;
    wrong |= above & ~3u;
    wrong |= above == 3u;
    weight += static_cast<uint32_t>(v & 1);
  }
  const uint32_t expected = static_cast<uint32_t>(context.spec().secret_hamming_weight);
  // That a file is refused may be seen.
  if (declassify((wrong != 0) | ((expected != 0) & (weight != expected)))) {
    throw Error(
        "the secret key is not a ternary vector of the weight its parameters say; the file is damaged");
  }
  poly_ = secret_poly(context.ring(), context.ring().full_basis(), coefficients_);
}

}  // namespace psm::ckks
