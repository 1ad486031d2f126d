#include "ckks/scheme/client/key_verifier.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "ckks/base/testing/check.h"
#include "ckks/ring/sampler.h"
#include "ckks/scheme/client/key_generator.h"

namespace psm::ckks {
namespace {

constexpr GaloisElement kTurn = 5;

// One coefficient of a polynomial in NTT form changes by `by`, modulo all primes or those of one limb alone.
void change(RnsPoly& poly, int64_t by, int only = -1) {
  to_coefficients(poly);
  for (int j = 0; j < poly.limbs(); ++j) {
    const Modulus& m = poly.modulus(j);
    if (only < 0 || only == j) poly.limb(j)[7] = add_mod(poly.limb(j)[7], reduce_signed(by, m), m);
  }
  to_ntt(poly);
}

void change(KeySwitchKey& key, size_t digit, int64_t by, int only = -1) {
  RnsPoly b = key.digits[digit].b.unpack();
  change(b, by, only);
  key.digits[digit].b = PackedPoly(b);
}

void check_all(KeyVerifier& verifier, const EvaluationKeys& keys) {
  for (const auto& [use, key] : keys.keys)
    verifier.check(std::get<KeyRole>(use), std::get<GaloisElement>(use), key);
  verifier.finish();
}

struct Keys {
  const Context context{insecure_bootstrappable(10)};
  const SecretKey secret = SecretKey::generate(context);
  SecureRandom random{};
  // Another secret under the right one's name.
  const SecretKey impostor{context, sample_secret(context, context.spec().secret_hamming_weight, random),
                           secret.fingerprint().key};
  KeyGenerator generator{secret}, false_generator{impostor};

  void check_refused(const std::string& what, const std::function<void(KeyVerifier&)>& check) const {
    KeyVerifier verifier(secret);
    const std::string why = refusal_of([&] { check(verifier); }, 1);
    CAPTURE(why);
    CHECK(contains(why, ": " + what + " is not what it should be"));
  }
  // Keys around ModRaise: from the ephemeral secret at the top, as it is and turned, and at a low level.
  EvaluationKeys around(KeyGenerator& generator) const {
    KeyRequest request;
    request.need_raised(1, context.max_level());
    request.need_raised(1, 1);
    request.need_raised(kTurn, context.max_level());
    return generator.evaluation_keys(request);
  }
  KeySwitchKey& key_of(EvaluationKeys& keys, KeyRole role, GaloisElement element = 0, Level level = 0) const {
    return keys.keys.at({role, element, context.band(level)});
  }
};

// No chance decides below. The generator's errors never leave their bound; an error that is zero everywhere, or a wrong
// key whose N = 2^10 coefficients are all within the bound modulo primes of 2^40 and more, come less than once in 2^2000.
constexpr int64_t kFar = 2 * kErrorBound + 1;  // further than any two errors are apart

}  // namespace

TEST_CASE_FIXTURE(Keys, "what the generator makes passes, at the top of every band and below it") {
  KeyVerifier verifier(secret);
  verifier.check(generator.public_key());
  std::set<Level> levels;
  for (const Gadget& band : context.chain().bands) {
    levels.insert(band.top);
    if (band.top > 0) levels.insert(band.top - 1);
  }
  levels.insert(0);
  const GaloisElement rotation = galois_element(context, 3), conjugation = galois_element(context, 0, true);
  for (const Level level : levels) {
    CAPTURE(int{level});
    verifier.check(KeyRole::kRelinearisation, 0, generator.relinearisation(level));
    for (const GaloisElement g : {rotation, conjugation})
      verifier.check(KeyRole::kGalois, g, generator.galois(g, level));
  }
  check_all(verifier, around(generator));
}

TEST_CASE("the same under a dense secret") {
  ParameterSpec spec = insecure_version(secure_n16_dense(), 10);
  const Context dense(spec);
  const SecretKey key = SecretKey::generate(dense);
  KeyGenerator keys(key);
  KeyVerifier verifier(key);
  verifier.check(keys.public_key());
  KeyRequest request;
  request.need_relinearisation(dense.compute_level());
  request.need_raised(1, dense.max_level());
  request.need_raised(kTurn, dense.max_level());
  check_all(verifier, keys.evaluation_keys(request));
}

TEST_CASE_FIXTURE(
    Keys, "a public key of another secret, of another pair, or changed in one coefficient is refused") {
  const auto refused = [&](const PublicKey& key) {
    check_refused("the public key", [&](KeyVerifier& v) { v.check(key); });
  };
  refused(false_generator.public_key());
  PublicKey key = generator.public_key();
  ++key.fingerprint.key;
  refused(key);
  for (const int limb : {-1, 0, int{context.max_level()}}) {
    PublicKey changed = generator.public_key();
    change(changed.b, limb < 0 ? kFar : 1, limb);
    refused(changed);
  }
}

TEST_CASE_FIXTURE(Keys, "a key without its error would tell the secret, and is refused") {
  PublicKey key = generator.public_key();
  key.b = RnsPoly(context.ring(), key.a.basis(), Form::kNtt);
  const RnsPoly s = secret.poly().clone_prefix(key.a.basis());
  multiply(key.b, key.a, s);
  subtract(key.b, RnsPoly::zero(context.ring(), key.b.basis(), Form::kNtt), key.b);
  check_refused("the public key", [&](KeyVerifier& v) { v.check(key); });
}

TEST_CASE_FIXTURE(Keys, "a relinearisation key is refused where any part of it is another") {
  const Level level = context.compute_level();
  const auto refused = [&](const KeySwitchKey& key) {
    check_refused(message("the key for products at level ", key.level),
                  [&](KeyVerifier& v) { v.check(KeyRole::kRelinearisation, 0, key); });
  };
  refused(false_generator.relinearisation(level));
  refused(generator.galois(galois_element(context, 1), level));
  const KeySwitchKey key = generator.relinearisation(level);
  REQUIRE(key.digits.size() > 1);
  for (size_t digit = 0; digit < key.digits.size(); ++digit)
    for (const int limb : {-1, 0, int{level}, int{level} + key.p_count}) {
      CAPTURE(digit);
      CAPTURE(limb);
      KeySwitchKey changed = key.in(nullptr);
      change(changed, digit, limb < 0 ? kFar : 1, limb);
      refused(changed);
    }
  KeySwitchKey swapped = key.in(nullptr);
  std::swap(swapped.digits[0], swapped.digits[1]);
  refused(swapped);
  KeySwitchKey short_one = key.in(nullptr);
  short_one.digits.pop_back();
  refused(short_one);
  KeySwitchKey renamed = key.in(nullptr);
  ++renamed.fingerprint.key;
  refused(renamed);
}

TEST_CASE_FIXTURE(Keys, "a Galois key of another element, level or secret is refused") {
  const Level level = context.compute_level();
  const GaloisElement element = galois_element(context, 3);
  const auto refused = [&](const KeySwitchKey& key) {
    check_refused(message("the key of the Galois element ", element, " at level ", key.level),
                  [&](KeyVerifier& v) { v.check(KeyRole::kGalois, element, key); });
  };
  refused(generator.galois(galois_element(context, -3), level));
  refused(generator.galois(galois_element(context, 3, true), level));
  refused(generator.relinearisation(level));
  refused(false_generator.galois(element, level));
  // Polynomials of one level, and the number of another: of the same band and of another.
  for (const Level other : {level - 1, context.max_level(), Level(0)}) {
    KeySwitchKey key = generator.galois(element, level);
    key.level = other;
    refused(key);
  }
  KeySwitchKey narrow = generator.galois(element, level);
  --narrow.p_count;
  refused(narrow);
  KeySwitchKey changed = generator.galois(element, level);
  change(changed, changed.digits.size() - 1, -kFar);
  refused(changed);
}

TEST_CASE_FIXTURE(
    Keys,
    "the keys around ModRaise are refused unless they are of one ephemeral secret of the right weight") {
  const Level top = context.max_level();
  const auto behind = [](GaloisElement element, Level level) {
    return message("the key behind ModRaise of the Galois element ", element, " at level ", level);
  };
  const std::string all = "the set of keys around ModRaise", before = "the key before ModRaise",
                    ephemeral = "the ephemeral secret";
  const auto refused = [&](const std::string& what, const std::function<void(EvaluationKeys&)>& change) {
    EvaluationKeys keys = around(generator);
    change(keys);
    check_refused(what, [&](KeyVerifier& v) { check_all(v, keys); });
  };
  const std::pair<GaloisElement, Level> places[] = {{1, Level(1)}, {1, top}, {kTurn, top}};
  EvaluationKeys again = around(generator), other = around(false_generator);
  for (EvaluationKeys* keys : {&again, &other})
    refused(before, [&](EvaluationKeys& k) {
      key_of(k, KeyRole::kToEphemeral) = key_of(*keys, KeyRole::kToEphemeral).in(nullptr);
    });
  for (const auto& [g, level] : places) {
    CAPTURE(g);
    CAPTURE(int{level});
    const bool first = g == 1 && level == 1;
    const auto place = [&](EvaluationKeys& k) -> KeySwitchKey& {
      return key_of(k, KeyRole::kFromEphemeral, g, level);
    };
    // Another ephemeral secret of the right weight is found where it does not fit the next key.
    refused(first ? behind(1, top) : behind(g, level),
            [&](EvaluationKeys& k) { place(k) = place(again).in(nullptr); });
    refused(first ? ephemeral : behind(g, level),
            [&](EvaluationKeys& k) { place(k) = place(other).in(nullptr); });
    for (const int limb : {1, int{level}, int{level} + 1 + context.p_count(level) - 1})
      refused(behind(g, level), [&](EvaluationKeys& k) { change(place(k), 0, 1, limb); });
    refused(behind(g, level), [&](EvaluationKeys& k) { ++place(k).fingerprint.key; });
  }
  for (const int limb : {0, 1})
    refused(before, [&](EvaluationKeys& k) { change(key_of(k, KeyRole::kToEphemeral), 0, 1, limb); });
  // A key for another element, and one of another role.
  refused(behind(1, top), [&](EvaluationKeys& k) {
    std::swap(key_of(k, KeyRole::kFromEphemeral, 1, top), key_of(k, KeyRole::kFromEphemeral, kTurn, top));
  });
  refused(behind(kTurn, top), [&](EvaluationKeys& k) {
    key_of(k, KeyRole::kFromEphemeral, kTurn, top) = generator.galois(kTurn, top);
  });
  // One of them is missing, or there are two.
  refused(all, [&](EvaluationKeys& k) { k.keys.erase({KeyRole::kToEphemeral, 0, 0}); });
  refused(all, [&](EvaluationKeys& k) {
    std::erase_if(k.keys, [](const auto& key) { return std::get<0>(key.first) == KeyRole::kFromEphemeral; });
  });
  refused(all, [&](EvaluationKeys& k) {
    k.keys.emplace(EvaluationKeys::Use{KeyRole::kToEphemeral, 1, 0},
                   key_of(k, KeyRole::kToEphemeral).in(nullptr));
  });
}

TEST_CASE_FIXTURE(Keys, "an ephemeral secret of another weight is refused") {
  ParameterSpec light = context.spec();
  light.encapsulation_hamming_weight -= 1;
  const Context other(light);  // the same primes
  SecretVector<int32_t> coefficients(static_cast<size_t>(context.n()));
  std::copy(secret.coefficients().begin(), secret.coefficients().end(), coefficients.begin());
  const SecretKey same(other, std::move(coefficients), secret.fingerprint().key);
  KeyGenerator generator(same);
  EvaluationKeys keys = around(generator);
  KeyVerifier verifier(same);
  check_all(verifier, keys);
  for (auto& [use, key] : keys.keys) key.fingerprint = secret.fingerprint();
  check_refused("the ephemeral secret", [&](KeyVerifier& v) { check_all(v, keys); });
}

}  // namespace psm::ckks
