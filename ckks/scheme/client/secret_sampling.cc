#include "ckks/base/random/random.h"
#include "ckks/ring/sampler.h"
#include "ckks/scheme/client/secret_key.h"

namespace psm::ckks {

SecretVector<int32_t> sample_secret(const Context& context, int hamming_weight, SecureRandom& random) {
  const size_t n = static_cast<size_t>(context.n());
  return hamming_weight == 0 ? sample_ternary(n, random)
                             : sample_ternary_weight(n, static_cast<size_t>(hamming_weight), random);
}

SecretKey SecretKey::generate(const Context& context) {
  SecureRandom secret_random;
  return SecretKey(context, sample_secret(context, context.spec().secret_hamming_weight, secret_random),
                   PublicSeedSource().identifier());
}

}  // namespace psm::ckks
