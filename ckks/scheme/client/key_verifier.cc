#include "ckks/scheme/client/key_verifier.h"

#include <atomic>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/secrecy.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/ring/sampler.h"
#include "ckks/scheme/client/key_generator.h"

namespace psm::ckks {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(
      message("the new keys failed their test: ", what,
              " is not what it should be; they are not kept. Make keys again; if that fails too, check the "
              "memory"),
      Error::Kind::kFailed);
}

constexpr const char* kAround = "the set of keys around ModRaise";

// b + a s in NTT form, of one limb; s is modulo all primes.
Buffer phase(const RnsPoly& a, const RnsPoly& b, const RnsPoly& s, int j) {
  const Ring& ring = a.ring();
  const int s_limb = ring.limb_of(s.basis(), a.prime_index(j));
  Buffer sum = Buffer::zeroising(ring.n());
  kernels().multiply(sum.data(), a.limb(j), s.limb(s_limb), ring.n(), a.modulus(j));
  kernels().add(sum.data(), sum.data(), b.limb(j), ring.n(), a.modulus(j));
  return sum;
}

// The representatives near zero of residues modulo q; not 0 where one of them is beyond `most`, in constant time.
uint64_t centre(const Buffer& x, uint64_t q, int32_t most, SecretVector<int32_t>& small) {
  uint64_t bad = 0;
  for (size_t i = 0; i < small.size(); ++i) {
    const uint64_t shifted = x[i] + static_cast<uint64_t>(most);
    const uint64_t over = shifted - q;        // of negative representatives
    const uint64_t wraps = (over >> 63) - 1;  // all ones where shifted >= q
    const uint64_t value = (over & wraps) | (shifted & ~wraps);
    bad |= (static_cast<uint64_t>(2 * most) - value) >> 63;  // value > 2 most
    small[i] = static_cast<int32_t>(value & 0xffff) - most;
  }
  return bad;
}

// What a digit of a key carries in addition to zero: P from, modulo the primes of a range.
struct Carried {
  const RnsPoly* from = nullptr;
  DigitRange range{0, 0};
  int p_count = 0;
};

// Whether b + a s less what it carries is one error of the right size, and not zero: that would tell the secret.
bool is_small(const Context& context, const RnsPoly& a, const RnsPoly& b, const RnsPoly& s,
              const Carried& carried) {
  const Ring& ring = a.ring();
  std::vector<SecretVector<int32_t>> errors;
  for (int j = 0; j < a.limbs(); ++j) errors.emplace_back(ring.n());
  std::atomic<uint64_t> bad = 0;
  parallel_for(0, a.limbs(), [&](int j) {
    const Modulus& m = a.modulus(j);
    Buffer error = phase(a, b, s, j);
    if (j >= carried.range.begin && j < carried.range.end) {
      const uint64_t negative = m.value - special_product(context, carried.p_count, m);
      kernels().scale_add(error.data(), carried.from->limb(j), make_multiplier(negative, m), ring.n(), m);
    }
    kernels().ntt_inverse(error.data(), error.data(), ring.ntt(a.prime_index(j)));
    bad |= centre(error, m.value, kErrorBound, errors[j]);
  });
  uint32_t differs = 0, any = 0;
  for (const auto& error : errors)
    for (size_t i = 0; i < error.size(); ++i) {
      differs |= static_cast<uint32_t>(error[i] ^ errors[0][i]);
      any |= static_cast<uint32_t>(error[i]);
    }
  return declassify((bad == 0) & (differs == 0) & (any != 0));
}

}  // namespace

void KeyVerifier::check(const PublicKey& key) const {
  const Basis basis{context_.max_level() + 1, 0};
  if (key.fingerprint != secret_.fingerprint() || key.a.basis() != basis || key.b.basis() != basis ||
      !is_small(context_, key.a, key.b, secret_.poly(), {}))
    fail("the public key");
}

void KeyVerifier::check(KeyRole role, GaloisElement element, const KeySwitchKey& key) {
  if (role == KeyRole::kToEphemeral) {
    if (to_ephemeral_) fail(kAround);
    to_ephemeral_ = key.in(nullptr);
    return;
  }
  const KeyName name = key_name(context_.chain(), role, element, key.level);
  check_shape(name, key);
  if (role == KeyRole::kFromEphemeral && ephemeral_.empty())
    ephemeral_ = secret_poly(context_.ring(), context_.ring().full_basis(), ephemeral_of(name, key));
  check_switch(name, key);
}

void KeyVerifier::finish() {
  if (to_ephemeral_.has_value() == ephemeral_.empty()) fail(kAround);
  if (!to_ephemeral_) return;
  const KeyName name = key_name(context_.chain(), KeyRole::kToEphemeral, 0, 0);
  check_shape(name, *to_ephemeral_);
  check_switch(name, *to_ephemeral_);
}

// e + P s~ is e modulo the special primes, and P s~ more modulo q_0.
SecretVector<int32_t> KeyVerifier::ephemeral_of(const KeyName& name, const KeySwitchKey& key) const {
  const Ring& ring = context_.ring();
  const SwitchedSecrets secrets(secret_, ephemeral_, name);
  const RnsPoly a = key.digits[0].a.unpack(), b = key.digits[0].b.unpack();
  const auto residues = [&](int j) {
    Buffer x = phase(a, b, secrets.to(), j);
    kernels().ntt_inverse(x.data(), x.data(), ring.ntt(a.prime_index(j)));
    return x;
  };
  SecretVector<int32_t> error(ring.n()), secret(ring.n());
  uint64_t bad = centre(residues(a.basis().q), context_.p(0), kErrorBound, error);
  Buffer rest = residues(0);
  const Modulus& q = ring.q(0);
  const uint64_t inverse = inverse_mod(special_product(context_, key.p_count, q), q);
  for (size_t i = 0; i < ring.n(); ++i) {
    const uint64_t e = q.value + static_cast<uint64_t>(static_cast<int64_t>(error[i]));  // in (0, 2q)
    rest[i] = mul_mod(reduce_mod(rest[i] + 2 * q.value - e, q), inverse, q);
  }
  bad |= centre(rest, q.value, 1, secret);
  int weight = 0;
  for (const int32_t s : secret) weight += s & 1;
  if (!declassify((bad == 0) & (weight == context_.spec().encapsulation_hamming_weight)))
    fail("the ephemeral secret");
  return secret;
}

void KeyVerifier::check_shape(const KeyName& name, const KeySwitchKey& key) const {
  const Basis basis{name.level + 1, name.p_count};
  bool good = key.fingerprint == secret_.fingerprint() && key.level == name.level &&
              key.p_count == name.p_count && key.digits.size() == static_cast<size_t>(name.digits);
  for (const KeySwitchKey::Digit& digit : key.digits)
    good = good && digit.a.basis() == basis && digit.b.basis() == basis;
  if (!good) fail(text(name));
}

void KeyVerifier::check_switch(const KeyName& name, const KeySwitchKey& key) const {
  const SwitchedSecrets secrets(secret_, ephemeral_, name);
  for (size_t d = 0; d < key.digits.size(); ++d) {
    const Carried carried{&secrets.from(), key_digit(context_.chain(), name, static_cast<int>(d)),
                          name.p_count};
    if (!is_small(context_, key.digits[d].a.unpack(), key.digits[d].b.unpack(), secrets.to(), carried))
      fail(text(name));
  }
}

}  // namespace psm::ckks
