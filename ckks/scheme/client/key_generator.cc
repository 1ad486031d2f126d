#include "ckks/scheme/client/key_generator.h"

#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {

uint64_t special_product(const Context& context, int p_count, const Modulus& m) {
  uint64_t product = 1;
  for (int k = 0; k < p_count; ++k) product = mul_mod(product, reduce_mod(context.p(k), m), m);
  return product;
}

SwitchedSecrets::SwitchedSecrets(const SecretKey& secret, const RnsPoly& ephemeral, const KeyName& name)
    : from_(&secret.poly()), to_(&secret.poly()) {
  const Ring& ring = secret.context().ring();
  const auto turned = [&] {
    return automorphism(secret.poly(), inverse_element(name.element, secret.context().log_n()));
  };
  switch (name.role) {
    case KeyRole::kRelinearisation:
      made_ = RnsPoly::secret(ring, ring.full_basis(), Form::kNtt);
      multiply(made_, secret.poly(), secret.poly());
      from_ = &made_;
      break;
    case KeyRole::kGalois:
      made_ = turned();
      to_ = &made_;
      break;
    case KeyRole::kToEphemeral:
      to_ = &ephemeral;
      break;
    case KeyRole::kFromEphemeral:
      made_ = turned();
      from_ = &ephemeral, to_ = &made_;
      break;
  }
}

PublicKey KeyGenerator::public_key() {
  PublicKey key;
  key.seed = fresh_seed();
  key.fingerprint = secret_.fingerprint();
  key.a = expand_seed(key.seed, 0, context_.ring(), {context_.max_level() + 1, 0});
  key.b = encrypt_zero(key.a, secret_.poly(), error_random_);
  return key;
}

KeySwitchKey KeyGenerator::switching_key(const KeyName& name, const RnsPoly& ephemeral) {
  const Ring& ring = context_.ring();
  const SwitchedSecrets secrets(secret_, ephemeral, name);
  KeySwitchKey key{fresh_seed(), name.level, name.p_count, {}, secret_.fingerprint()};
  for (int i = 0; i < name.digits; ++i) {
    const RnsPoly a = expand_seed(key.seed, i, ring, {name.level + 1, name.p_count});
    RnsPoly b = encrypt_zero(a, secrets.to(), error_random_);
    const DigitRange range = key_digit(context_.chain(), name, i);
    for (int j = range.begin; j < range.end; ++j) {
      const Modulus& m = ring.q(j);
      const Multiplier p_product = make_multiplier(special_product(context_, name.p_count, m), m);
      kernels().scale_add(b.limb(j), secrets.from().limb(j), p_product, ring.n(), m);
    }
    key.digits.push_back({PackedPoly(b), PackedPoly(a)});
  }
  return key;
}

RnsPoly KeyGenerator::ephemeral_secret() {
  // check_security() has looked at the ephemeral secret of bootstrappable parameters only.
  if (!context_.can_bootstrap() && !context_.spec().insecure) {
    throw Error(message("parameters '", context_.spec().name,
                        "' do not bootstrap: they have no ephemeral secret to make keys for"));
  }
  const Ring& ring = context_.ring();
  error_random_.renew();
  const SecretVector<int32_t> coefficients =
      sample_secret(context_, context_.spec().encapsulation_hamming_weight, error_random_);
  return secret_poly(ring, ring.full_basis(), coefficients);
}

void KeyGenerator::make(const KeyRequest& request,
                        const std::function<void(const KeyName&, KeySwitchKey)>& take) {
  RnsPoly ephemeral;
  for (const KeyName& name : request.keys(context_.chain())) {
    // The one key under the ephemeral secret, with the modulus q_0 p_0, comes before those from it.
    if (name.role == KeyRole::kToEphemeral) ephemeral = ephemeral_secret();
    take(name, switching_key(name, ephemeral));
  }
}

EvaluationKeys KeyGenerator::evaluation_keys(const KeyRequest& request,
                                             const std::function<void()>& after_each) {
  EvaluationKeys made;
  made.fingerprint = secret_.fingerprint();
  make(request, [&](const KeyName& name, KeySwitchKey key) {
    made.keys.emplace(use_of(context_, name), std::move(key));
    if (after_each) after_each();
  });
  return made;
}

SecretVector<int32_t> sample_secret(const Context& context, int hamming_weight, SecureRandom& random) {
  const size_t n = static_cast<size_t>(context.n());
  return hamming_weight == 0 ? sample_ternary(n, random)
                             : sample_ternary_weight(n, static_cast<size_t>(hamming_weight), random);
}

SecretKey SecretKey::generate(const Context& context) {
  SecureRandom secret_random;
  return SecretKey(context, sample_secret(context, context.spec().secret_hamming_weight, secret_random),
                   fresh_identifier());
}

}  // namespace psm::ckks
