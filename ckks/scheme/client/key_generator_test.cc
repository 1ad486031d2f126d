#include "ckks/scheme/client/key_generator.h"

#include <algorithm>
#include <array>
#include <set>

#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/child.h"
#include "ckks/scheme/client/key_verifier.h"

namespace psm::ckks {
namespace {

int hamming_weight(const SecretKey& secret) {
  int weight = 0;
  for (int32_t v : secret.coefficients()) weight += v != 0;
  return weight;
}

struct Keys {
  const Context context{insecure_bootstrappable(10)};
  const SecretKey secret = SecretKey::generate(context);
  KeyGenerator generator{secret};
};

}  // namespace

TEST_CASE_FIXTURE(Keys, "secrets have the weight that the parameters say") {
  CHECK(hamming_weight(secret) == 192);
  ParameterSpec dense = insecure_leveled(12, 2);
  dense.secret_hamming_weight = 0;
  const Context dense_context(dense);
  CHECK(successes(4096, 2.0 / 3).holds(hamming_weight(SecretKey::generate(dense_context))));
}

TEST_CASE_FIXTURE(Keys, "a fork gives parent and child keys of different seeds and errors") {
  generator.relinearisation(1);  // it has drawn before
  struct Drawn {
    uint64_t a, b;
  };
  const auto draw = [&] {
    const KeySwitchKey key = generator.relinearisation(1);
    return Drawn{key.digits[0].a.unpack().limb(0)[0], key.digits[0].b.unpack().limb(0)[0]};
  };
  const Drawn childs = from_child<Drawn>(draw), ours = draw();  // each pair is equal once in 2^30 or more
  CHECK(childs.a != ours.a);
  CHECK(childs.b != ours.b);
}

TEST_CASE_FIXTURE(Keys, "two key pairs differ in secret and fingerprint") {
  const SecretKey other = SecretKey::generate(context);
  CHECK(secret.fingerprint().parameters == other.fingerprint().parameters);
  CHECK(secret.fingerprint().key != other.fingerprint().key);
  CHECK_FALSE(std::ranges::equal(secret.coefficients(), other.coefficients()));
}

TEST_CASE_FIXTURE(Keys, "a stored secret that is not ternary, or of another weight or size, is refused") {
  const auto refusal = [&](SecretVector<int32_t> coefficients) {
    return refusal_of([&] { const SecretKey key(context, std::move(coefficients), 1); });
  };
  const auto stored = [](size_t size, int weight, int32_t value) {
    SecretVector<int32_t> v(size);
    for (int i = 0; i < weight; ++i) v[i] = i % 2 == 0 ? value : -1;
    return v;
  };
  CHECK(refusal(stored(1024, 192, 1)) == "");
  CHECK(refusal(stored(1024, 192, 2)) != "");
  CHECK(refusal(stored(1024, 192, -2)) != "");
  CHECK(refusal(stored(1024, 192, 1 << 20)) != "");
  CHECK(refusal(stored(1024, 192, INT32_MAX)) != "");
  CHECK(refusal(stored(1024, 191, 1)) != "");
  CHECK(refusal(stored(512, 192, 1)) != "");
}

TEST_CASE_FIXTURE(Keys, "the only key under the ephemeral secret has the modulus q_0 p_0") {
  KeyRequest request;
  const Level top = context.max_level();
  const GaloisElement turn = galois_element(context, 3);
  request.need_raised(1, top);
  request.need_raised(turn, 3);
  request.need_raised(turn, top);
  request.need_relinearisation(3);
  request.need_galois(galois_element(context, 1), 3);
  const EvaluationKeys keys = generator.evaluation_keys(request);
  const KeySwitchKey* const to = keys.find(context, KeyRole::kToEphemeral, 0, 0);
  REQUIRE(to != nullptr);
  CHECK(to->level == 0);
  CHECK(to->digits.size() == 1);
  CHECK(to->digits[0].b.basis() == Basis{1, 1});
  for (const auto& [g, level] : {std::pair(GaloisElement{1}, top), {turn, Level(3)}, {turn, top}}) {
    const KeySwitchKey* const from = keys.find(context, KeyRole::kFromEphemeral, g, level);
    REQUIRE(from != nullptr);
    CHECK(from->bytes() == context.chain().key_bytes(level, from->p_count, 1));
  }
  // All others are under the main secret, and those from the ephemeral one have the same one, of the right weight.
  KeyVerifier verifier(secret);
  for (const auto& [use, key] : keys.keys)
    verifier.check(std::get<KeyRole>(use), std::get<GaloisElement>(use), key);
  verifier.finish();
}

TEST_CASE_FIXTURE(
    Keys,
    "the halves from seeds: a key's own seed reproduces them, and seeds, digits and limbs separate them") {
  const KeySwitchKey first = generator.relinearisation(15), second = generator.relinearisation(15);
  CHECK_FALSE(first.seed == second.seed);
  REQUIRE(first.digits.size() >= 2);
  for (int d = 0; d < 2; ++d) {
    const RnsPoly a = expand_seed(first.seed, d, context.ring(), first.digits[d].a.basis());
    const RnsPoly kept = first.digits[d].a.unpack();
    for (int j = 0; j < a.limbs(); ++j) CHECK(a.limb(j)[5] == kept.limb(j)[5]);
  }
  // Every polynomial `a` of a whole key pair: no limb begins like another, not even limbs of one prime.
  KeyRequest request;
  request.need_relinearisation(context.max_level());
  for (GaloisElement g : {GaloisElement{5}, GaloisElement{25}}) request.need_galois(g, context.max_level());
  for (GaloisElement g : {GaloisElement{1}, GaloisElement{5}}) request.need_raised(g, context.max_level());
  const EvaluationKeys keys = generator.evaluation_keys(request);
  const PublicKey public_key = generator.public_key();
  std::set<uint64_t> seen;
  std::set<std::array<uint8_t, 32>> seeds = {public_key.seed.bytes};
  size_t drawn = 0, count = 1;
  const auto take = [&](const RnsPoly& a) {
    for (int j = 0; j < a.limbs(); ++j, ++drawn) seen.insert(a.limb(j)[0]);
  };
  take(public_key.a);
  const auto take_key = [&](const KeySwitchKey& key) {
    seeds.insert(key.seed.bytes);
    ++count;
    for (const auto& digit : key.digits) take(digit.a.unpack());
  };
  take_key(first), take_key(second);
  CHECK(keys.keys.size() == 6);
  for (const auto& [use, key] : keys.keys) take_key(key);
  CHECK(seen.size() == drawn);
  CHECK(seeds.size() == count);
}

TEST_CASE_FIXTURE(
    Keys, "requests take one key for each band that is used, at its highest level, merge, and count bytes") {
  const Level top = context.max_level();
  KeyRequest a, b;
  a.need_galois(5, 2);
  a.need_galois(5, 1);
  a.need_galois(1, 9);  // the identity needs no key
  b.need_galois(5, 4);
  b.need_galois(25, 1);
  b.need_relinearisation(2);
  a.need_raised(1, 1);
  b.need_raised(1, 2);
  b.need_raised(5, top);
  a.merge(b);
  CHECK(a.galois_levels.size() == 2);
  const std::vector<std::tuple<KeyRole, GaloisElement, Level>> expected{
      {KeyRole::kRelinearisation, 0, Level(2)}, {KeyRole::kGalois, 5, Level(2)},
      {KeyRole::kGalois, 5, Level(4)},          {KeyRole::kGalois, 25, Level(1)},
      {KeyRole::kToEphemeral, 0, Level(0)},     {KeyRole::kFromEphemeral, 1, Level(2)},
      {KeyRole::kFromEphemeral, 5, top}};
  std::vector<std::tuple<KeyRole, GaloisElement, Level>> named;
  for (const KeyName& key : a.keys(context.chain())) named.emplace_back(key.role, key.element, key.level);
  CHECK(named == expected);
  CHECK(a.count(context.chain()) == 7);
  int calls = 0;
  const EvaluationKeys keys = generator.evaluation_keys(a, [&] { ++calls; });
  CHECK(calls == 7);
  CHECK(keys.bytes() == a.bytes(context.chain()));
  // Each serves the levels of its band up to its own.
  const auto find = [&](GaloisElement g, Level level) {
    return keys.find(context, KeyRole::kGalois, g, level);
  };
  REQUIRE(find(5, 4) != nullptr);
  CHECK(find(5, 4)->p_count == context.p_count(4));
  CHECK(find(5, 1) == find(5, 2));
  CHECK(find(5, 5) == nullptr);
  CHECK(find(25, 2) == nullptr);
}

TEST_CASE("secure parameters without a bootstrap have no ephemeral secret") {
  // Their encapsulation weight was never held against the security table.
  ParameterSpec spec = insecure_leveled(10, 1);
  spec.q0_bits = 20, spec.p_bits = 22;
  spec.compute_bits = spec.log_scale = 20;
  spec.p_count = 1;
  spec.log_n = 12, spec.secret_hamming_weight = 0, spec.encapsulation_hamming_weight = 1;
  spec.insecure = false;
  const Context secure(spec);
  const SecretKey secret = SecretKey::generate(secure);
  KeyRequest request;
  request.need_raised(1, 0);
  CHECK_THROWS_AS(KeyGenerator(secret).evaluation_keys(request), Error);
}

}  // namespace psm::ckks
