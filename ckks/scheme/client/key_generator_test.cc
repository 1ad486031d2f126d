#include "ckks/scheme/client/key_generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>

#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/child.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {
namespace {

int hamming_weight(const SecretKey& secret) {
  int weight = 0;
  for (int32_t v : secret.coefficients()) weight += v != 0;
  return weight;
}

struct Keys {
  const Context context{insecure_bootstrappable(10)};
  const Ring& ring = context.ring();
  const SecretKey secret = SecretKey::generate(context);
  KeyGenerator generator{secret};

  // b + a s - P g s' modulo limb j, s' and s given in NTT form.
  std::vector<int64_t> errors(const KeySwitchKey& key, int digit, int j, const RnsPoly& s_to,
                              const RnsPoly& s_from) const {
    const RnsPoly b = key.digits[digit].b.unpack(), a = key.digits[digit].a.unpack();
    const int prime = b.prime_index(j);  // and the secrets' limb: they hold all limbs of the ring
    const Modulus& m = ring.modulus(prime);
    const DigitRange range = context.digit(digit, key.level);
    uint64_t p = 1;
    for (int k = 0; k < key.p_count; ++k) p = mul_mod(p, reduce_mod(context.p(k), m), m);
    std::vector<uint64_t> error(ring.n());
    for (size_t i = 0; i < ring.n(); ++i) {
      error[i] = add_mod(b.limb(j)[i], mul_mod(a.limb(j)[i], s_to.limb(prime)[i], m), m);
      if (j >= range.begin && j < range.end)
        error[i] = sub_mod(error[i], mul_mod(p, s_from.limb(prime)[i], m), m);
    }
    kernels().ntt_inverse(error.data(), error.data(), ring.ntt(prime));
    std::vector<int64_t> centred;
    for (const uint64_t e : error) centred.push_back(centered(e, m));
    return centred;
  }

  int64_t largest_error(const KeySwitchKey& key, int digit, int j, const RnsPoly& s_to,
                        const RnsPoly& s_from) const {
    int64_t largest = 0;
    for (const int64_t e : errors(key, digit, j, s_to, s_from)) largest = std::max(largest, std::abs(e));
    return largest;
  }
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
  CHECK(refusal(stored(1024, 191, 1)) != "");
  CHECK(refusal(stored(512, 192, 1)) != "");
}

TEST_CASE_FIXTURE(Keys, "every limb of a switching key encrypts P g s' with a small error") {
  RnsPoly square(ring, ring.full_basis(), Form::kNtt);
  multiply(square, secret.poly(), secret.poly());
  for (const Level level : {Level(0), Level(5), Level(15), context.max_level()}) {
    CAPTURE(level);
    const KeySwitchKey key = generator.relinearisation(level);
    CHECK(static_cast<int>(key.digits.size()) == context.digit_count(level));
    CHECK(key.bytes() == context.chain().key_bytes(level));
    for (int d = 0; d < static_cast<int>(key.digits.size()); ++d) {
      for (int j = 0; j < level + 1 + context.p_count(level); ++j) {
        const int64_t largest = largest_error(key, d, j, secret.poly(), square);
        CHECK(largest >= 1);
        CHECK(largest <= kErrorBound);
      }
    }
  }
  const GaloisElement g = galois_element(context, 3);
  const KeySwitchKey key = generator.galois(g, 7);
  RnsPoly turned = automorphism(secret.poly(), inverse_element(g, context.log_n()));
  for (int j = 0; j < 8; ++j) CHECK(largest_error(key, 0, j, turned, secret.poly()) <= kErrorBound);
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
  // All other keys decrypt under the main secret: were one under the ephemeral one, its error would be large.
  RnsPoly square(ring, ring.full_basis(), Form::kNtt);
  multiply(square, secret.poly(), secret.poly());
  CHECK(largest_error(*keys.find(context, KeyRole::kRelinearisation, 0, 3), 0, context.p_count(3),
                      secret.poly(), square) <= kErrorBound);
  // Those from it hold e alone modulo the special primes, and P s~ more modulo all others: the same s~.
  const RnsPoly nothing = RnsPoly::zero(ring, ring.full_basis(), Form::kNtt);
  std::set<std::vector<int64_t>> ephemeral;
  for (const auto& [g, level] : {std::pair(GaloisElement{1}, top), {turn, Level(3)}, {turn, top}}) {
    const KeySwitchKey* const from = keys.find(context, KeyRole::kFromEphemeral, g, level);
    REQUIRE(from != nullptr);
    REQUIRE(from->digits.size() == 1);
    CHECK(from->digits[0].b.basis() == Basis{level + 1, context.p_count(level)});
    CHECK(from->bytes() == context.chain().key_bytes(level, from->p_count, 1));
    const RnsPoly target = automorphism(secret.poly(), inverse_element(g, context.log_n()));
    const std::vector<int64_t> error = errors(*from, 0, level + 1, target, nothing);
    CHECK(largest_error(*from, 0, level + 1, square, nothing) > kErrorBound);
    for (int j = 0; j < from->digits[0].b.limbs(); ++j) {
      std::vector<int64_t> rest = errors(*from, 0, j, target, nothing);
      if (j > level) {
        CHECK(largest_error(*from, 0, j, target, nothing) <= kErrorBound);
        CHECK(rest == error);
        continue;
      }
      const Modulus& m = ring.q(j);
      const uint64_t inverse = inverse_mod(special_product(context, from->p_count, m), m);
      for (size_t i = 0; i < rest.size(); ++i)
        rest[i] = centered(mul_mod(reduce_signed(rest[i] - error[i], m), inverse, m), m);
      ephemeral.insert(rest);
    }
  }
  REQUIRE(ephemeral.size() == 1);
  CHECK(std::ranges::all_of(*ephemeral.begin(), [](int64_t s) { return std::abs(s) <= 1; }));
  CHECK(std::ranges::count(*ephemeral.begin(), 0) == context.n() - 32);
}

TEST_CASE_FIXTURE(
    Keys,
    "the halves from seeds: a key's own seed reproduces them, and seeds, digits and limbs separate them") {
  const KeySwitchKey first = generator.relinearisation(15), second = generator.relinearisation(15);
  CHECK_FALSE(first.seed == second.seed);
  REQUIRE(first.digits.size() >= 2);
  for (int d = 0; d < 2; ++d) {
    RnsPoly a(context.ring(), first.digits[d].a.basis(), Form::kNtt);
    expand_seed(first.seed, d, a);
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

TEST_CASE_FIXTURE(Keys, "keys for levels that do not exist are refused") {
  CHECK_THROWS_AS(generator.relinearisation(context.max_level() + 1), Error);
  CHECK_THROWS_AS(generator.galois(5, -1), Error);
}

}  // namespace psm::ckks
