#include "ckks/scheme/chain/context.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/scheme/chain/security.h"

namespace psm::ckks {
namespace {

std::string refusal(const ParameterSpec& spec) {
  return refusal_of([&] { const Context context(spec); });
}

// A set is refused with one change, for this reason.
template <typename Change>
void check_refused(ParameterSpec spec, const char* why, const Change& change) {
  change(spec);
  CHECK(contains(refusal(spec), why));
}

}  // namespace

TEST_CASE("all primes differ, have at most 50 bits and are 1 modulo 2N") {
  const Context context(insecure_bootstrappable(12));
  std::set<uint64_t> primes;
  for (int i = 0; i <= context.max_level(); ++i) primes.insert(context.q(i));
  for (int i = 0; i < context.ring().p_count(); ++i) primes.insert(context.p(i));
  CHECK(primes.size() == static_cast<size_t>(context.max_level() + 1 + context.ring().p_count()));
  for (uint64_t prime : primes) {
    CHECK(prime < uint64_t{1} << 50);
    CHECK(prime % 8192 == 1);
  }
}

TEST_CASE("scales follow S_{l-1} = S_l^2 / q_l and stay within 2^-13 of their power of two") {
  for (int log_n : {10, 13, 16}) {
    ParameterSpec spec = insecure_bootstrappable(log_n);
    const Context context(spec);
    CHECK(context.scale(context.compute_level()) == 0x1p40);
    for (Level l = 0; l < context.max_level(); ++l) {
      CAPTURE(l);
      if (l != context.compute_level()) {
        CHECK(context.scale(l) ==
              context.scale(l + 1) * context.scale(l + 1) / static_cast<double>(context.q(l + 1)));
      }
      const double nominal = l <= context.compute_level() ? 0x1p40 : 0x1p50;
      CHECK(std::abs(context.scale(l) / nominal - 1) < 0x1p-13);
    }
  }
}

TEST_CASE("a band's digits cover its primes, each no larger than P, and are cut at a level") {
  const Context context(insecure_bootstrappable(11));
  Level level = 0;
  for (const Gadget& gadget : context.chain().bands) {
    int next = 0;
    for (const DigitRange& digit : gadget.digits) {
      CHECK(digit.begin == next);
      double bits = 0;
      for (int i = digit.begin; i < digit.end; ++i) bits += std::log2(static_cast<double>(context.q(i)));
      CHECK(bits <= context.log2_p(gadget.top) - 7.9);
      next = digit.end;
    }
    CHECK(next == gadget.top + 1);
    CHECK(context.log2_q(gadget.top) + context.log2_p(gadget.top) <=
          context.log2_q(context.max_level()) + context.log2_p(context.max_level()) + 1e-3);
    for (; level <= gadget.top; ++level) {
      CHECK(&context.chain().bands[context.band(level)] == &gadget);
      CHECK(context.p_count(level) == gadget.p_count);
      CHECK(context.digit(context.digit_count(level) - 1, level).end == level + 1);
    }
  }
  CHECK(level == context.max_level() + 1);
}

TEST_CASE("below the top, digits are fewer than the top's special primes would allow") {
  const Context context(secure_n16());
  CHECK(context.p_count(27) == 6);
  CHECK(context.digit_count(27) == 5);
  CHECK(context.digit_count(19) == 2);
  CHECK(context.digit_count(15) == 2);
  CHECK(context.digit_count(9) == 1);
  CHECK(context.log2_qp() < 1550.1);
}

TEST_CASE("a digit has no more primes than one basis conversion takes, however large P is") {
  ParameterSpec spec = insecure_leveled(11, 40);
  spec.log_scale = spec.compute_bits = spec.q0_bits = 30;
  spec.p_count = 15;  // 750 bits: 24 primes of 30 bits
  const Context context(spec);
  for (const DigitRange& digit : context.chain().bands.back().digits) CHECK(digit.end - digit.begin <= 16);
  CHECK(context.chain().bands.back().digits.size() == 3);
}

TEST_CASE("every shipped set keeps within the bound of its secret, with the ephemeral secret at q_0 p_0") {
  for (const ParameterSpec& spec : {secure_n16(), secure_n16_dense()}) {
    CAPTURE(spec.name);
    const Context context(spec);  // refuses what is beyond a bound
    CHECK_FALSE(spec.insecure);
    CHECK(context.can_bootstrap());
    CHECK(contains(context.describe(), "128-bit security"));
  }
}

TEST_CASE(
    "the security that is printed is the cheapest attack's that the estimators know, for moduli at the "
    "bounds") {
  const std::string estimates = read_file(runfile("testdata/security_estimates.txt"), 1 << 20);
  for (const auto& [secret, kind] : {std::pair("ternary secret of weight 192", SecretKind::kSparse192),
                                     {"dense ternary secret", SecretKind::kDenseTernary},
                                     {"ephemeral secret of weight 32", SecretKind::kEphemeral32}})
    CHECK(contains(estimates, message(secret, ", modulus of ", max_log2_modulus(16, kind), " bits\n")));
  CHECK_FALSE(contains(estimates, "not run to its end"));
  double least = 1000;
  int sets = 0;
  for (size_t at = 0; (at = estimates.find("least of these 2^", at)) != std::string::npos; ++sets)
    least = std::min(least, std::stod(estimates.substr(at += 17)));
  CHECK(sets == 3);
  CHECK(std::floor(least) == kSecurityBits);
}

TEST_CASE("the dense secret's set spends its larger bound on special primes: three digits") {
  const Context dense(secure_n16_dense()), sparse(secure_n16());
  CHECK(dense.compute_level() - dense.entry_level() == 13);
  CHECK(dense.log2_qp() > 1699);
  CHECK(dense.digit_count(dense.max_level()) == 3);
  CHECK(3 * dense.chain().key_bytes(dense.max_level()) < 2 * sparse.chain().key_bytes(sparse.max_level()));
}

TEST_CASE("a modulus beyond the security table is refused, and the bound and its source are named") {
  ParameterSpec spec = secure_n16();
  spec.compute_levels = 14;
  CHECK(contains(refusal(spec), "exceeds the 1555 bits"));
  CHECK(contains(refusal(spec), "the PowerSoftmax paper's set, ternary secret of weight 192"));
  spec.insecure = true;
  CHECK(refusal(spec) == "");
  spec.insecure = false;
  spec.secret_hamming_weight = 0;  // dense: up to 1746 bits
  CHECK(refusal(spec) == "");
  spec.compute_levels = 20;
  CHECK(contains(refusal(spec), "exceeds the 1746 bits"));
  CHECK(contains(refusal(spec), "ePrint 2024/463, dense ternary secret"));
}

TEST_CASE("an ephemeral secret at too large a q_0 p_0 is refused, and the bound and its source are named") {
  const auto refused = [](double log2_q0p0) {
    return refusal_of([&] { check_security(secure_n16(), 1550, log2_q0p0); });
  };
  CHECK(refused(121) == "");
  CHECK(contains(refused(121.5), "exceeds the 121 bits"));
  CHECK(contains(refused(121.5), "ePrint 2022/024"));
}

TEST_CASE("secrets and rings that no cited estimate covers are refused") {
  const ParameterSpec spec = secure_n16();
  check_refused(spec, "Hamming weight 64", [](ParameterSpec& s) { s.secret_hamming_weight = 64; });
  check_refused(spec, "ephemeral secret", [](ParameterSpec& s) { s.encapsulation_hamming_weight = 16; });
  check_refused(spec, "no cited estimate covers N = 2^15", [](ParameterSpec& s) { s.log_n = 15; });
  // In the table, twice the ring has about twice the bits.
  for (int log_n = 11; log_n <= 16; ++log_n) {
    const double half = max_log2_modulus(log_n - 1, SecretKind::kDenseTernary);
    CHECK(max_log2_modulus(log_n, SecretKind::kDenseTernary) > 1.9 * half);
    CHECK(max_log2_modulus(log_n, SecretKind::kDenseTernary) < 2.2 * half);
  }
}

TEST_CASE("impossible shapes are refused with the field's name") {
  const ParameterSpec spec = insecure_leveled(11, 3);
  check_refused(spec, "log_n = 30", [](ParameterSpec& s) { s.log_n = 30; });
  check_refused(spec, "compute_levels = 0", [](ParameterSpec& s) { s.compute_levels = 0; });
  // Their sum wraps round to a small number.
  check_refused(spec, "more than 60 primes",
                [](ParameterSpec& s) { s.compute_levels = s.stc_levels = 0x7fffffff; });
  check_refused(spec, "p_count", [](ParameterSpec& s) { s.p_count = 0; });
  check_refused(spec, "60 bits", [](ParameterSpec& s) { s.q0_bits = 60; });
  check_refused(spec, "compute_bits", [](ParameterSpec& s) { s.compute_bits = 42; });
}

TEST_CASE("the fingerprint tells parameter sets apart and is the same for the same set") {
  const Context a(insecure_leveled(11, 3)), b(insecure_leveled(11, 3)), c(insecure_leveled(11, 4));
  ParameterSpec other_secret = insecure_leveled(11, 3);
  other_secret.secret_hamming_weight = 100;
  const Context d(other_secret);
  CHECK(a.fingerprint() == b.fingerprint());
  CHECK(a.fingerprint() != c.fingerprint());
  CHECK(a.fingerprint() != d.fingerprint());
}

TEST_CASE("sets that differ in the special primes of the top alone have different fingerprints") {
  // A lower band brings in special primes that the top does not use: the same list, other keys.
  std::set<uint64_t> fingerprints;
  for (int p_count = 1; p_count <= 8; ++p_count) {
    ParameterSpec spec = insecure_leveled(11, 20);
    spec.q0_bits = 45;
    spec.p_count = p_count;
    fingerprints.insert(Context(spec).fingerprint());
  }
  CHECK(fingerprints.size() == 8);
}

TEST_CASE("a specification whose primes lie too far apart to hold the scale is refused") {
  check_refused(insecure_leveled(12, 55), "no primes hold the scale",
                [](ParameterSpec& s) { s.log_scale = s.compute_bits = 22; });
}

}  // namespace psm::ckks
