#include "ckks/scheme/client/key_generator.h"

#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {
namespace {

void check_level(const Context& context, Level level) {
  if (level < 0 || level > context.max_level()) {
    throw Error(
        message("a key for level ", level, " was asked for, but levels go from 0 to ", context.max_level()));
  }
}

}  // namespace

uint64_t special_product(const Context& context, int p_count, const Modulus& m) {
  uint64_t product = 1;
  for (int k = 0; k < p_count; ++k) product = mul_mod(product, reduce_mod(context.p(k), m), m);
  return product;
}

PublicKey KeyGenerator::public_key() {
  const Ring& ring = context_.ring();
  PublicKey key;
  key.seed = fresh_seed();
  key.fingerprint = secret_.fingerprint();
  key.a = RnsPoly(ring, {context_.max_level() + 1, 0}, Form::kNtt);
  expand_seed(key.seed, 0, key.a);
  key.b = encrypt_zero(key.a, secret_.poly(), error_random_);
  return key;
}

KeySwitchKey KeyGenerator::switching_key(const RnsPoly& s_from, const RnsPoly& s_to, Level level,
                                         int p_count) {
  const Ring& ring = context_.ring();
  KeySwitchKey key{fresh_seed(), level, p_count, {}, secret_.fingerprint()};
  for (int i = 0; i < context_.digit_count(level); ++i) {
    RnsPoly a(ring, {level + 1, p_count}, Form::kNtt);
    expand_seed(key.seed, i, a);
    RnsPoly b = encrypt_zero(a, s_to, error_random_);
    const DigitRange range = context_.digit(i, level);
    for (int j = range.begin; j < range.end; ++j) {
      const Modulus& m = ring.q(j);
      const Multiplier p_product = make_multiplier(special_product(context_, p_count, m), m);
      kernels().scale_add(b.limb(j), s_from.limb(j), p_product, ring.n(), m);
    }
    key.digits.push_back({PackedPoly(b), PackedPoly(a)});
  }
  return key;
}

KeySwitchKey KeyGenerator::relinearisation(Level level) {
  check_level(context_, level);
  RnsPoly square = RnsPoly::secret(context_.ring(), context_.ring().full_basis(), Form::kNtt);
  multiply(square, secret_.poly(), secret_.poly());
  return switching_key(square, secret_.poly(), level, context_.p_count(level));
}

KeySwitchKey KeyGenerator::galois(GaloisElement g, Level level) {
  check_level(context_, level);
  const RnsPoly target = automorphism(secret_.poly(), inverse_element(g, context_.log_n()));
  return switching_key(secret_.poly(), target, level, context_.p_count(level));
}

void KeyGenerator::encapsulation(KeySwitchKey& to_ephemeral, KeySwitchKey& from_ephemeral) {
  // check_security() has looked at the ephemeral secret of bootstrappable parameters only.
  if (!context_.can_bootstrap() && !context_.spec().insecure) {
    throw Error(message("parameters '", context_.spec().name,
                        "' do not bootstrap: they have no ephemeral secret to make keys for"));
  }
  const Ring& ring = context_.ring();
  error_random_.renew();
  const SecretVector<int32_t> coefficients =
      sample_secret(context_, context_.spec().encapsulation_hamming_weight, error_random_);
  const RnsPoly ephemeral = secret_poly(ring, ring.full_basis(), coefficients);
  // The one key under the ephemeral secret: modulus q_0 p_0.
  const Level top = context_.max_level();
  to_ephemeral = switching_key(secret_.poly(), ephemeral, 0, 1);
  from_ephemeral = switching_key(ephemeral, secret_.poly(), top, context_.p_count(top));
}

void KeyGenerator::make(const KeyRequest& request,
                        const std::function<void(const KeyName&, KeySwitchKey)>& take) {
  KeySwitchKey from_ephemeral;
  for (const KeyName& name : request.keys(context_.chain())) {
    KeySwitchKey key;
    switch (name.role) {
      case KeyRole::kRelinearisation:
        key = relinearisation(name.level);
        break;
      case KeyRole::kGalois:
        key = galois(name.element, name.level);
        break;
      case KeyRole::kToEphemeral:
        encapsulation(key, from_ephemeral);
        break;
      case KeyRole::kFromEphemeral:
        key = std::move(from_ephemeral);
        break;
    }
    take(name, std::move(key));
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
