#include "ckks/bootstrap/overflow.h"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/chance.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

constexpr int kWeight = EvalMod::kEphemeralWeight, kLargest = EvalMod::kLargestMultiple;

// The multiple of q_0 in one coefficient of a simulated c_0 + c_1 s~.
int draw_multiple(TrainingRandom& random, int64_t q, int64_t m) {
  int64_t sum = 0;
  for (int j = 0; j < kWeight; ++j)
    sum += static_cast<int64_t>(random.integer(static_cast<uint64_t>(q))) - q / 2;
  int64_t c0 = (m - sum) % q;  // m - c_1 s~ modulo q, centred
  if (c0 > q / 2) c0 -= q;
  if (c0 < -(q / 2)) c0 += q;
  return static_cast<int>((sum + c0 - m) / q);
}

// counts[i + kLargest]: how often I was i.
void check_law(const std::array<long, 2 * kLargest + 1>& counts, double offset) {
  const long draws = std::accumulate(counts.begin(), counts.end(), 0L);
  for (int i = -kLargest; i <= kLargest; ++i) {
    CAPTURE(i);
    CHECK(successes(draws, multiple_probability(i + offset), counts.size())
              .holds(static_cast<double>(counts[i + kLargest])));
  }
}

TEST_CASE("a simulated ModRaise leaves multiples of q_0 with the law that is convolved, at any offset") {
  constexpr int64_t kModulus = (int64_t{1} << 40) - 87;
  TrainingRandom random(1);
  for (const double offset : {0.0, 0x1p-10, -0.4}) {
    CAPTURE(offset);
    std::array<long, 2 * kLargest + 1> counts{};
    const int64_t m = std::llround(offset * kModulus);
    for (int draw = 0; draw < 300000; ++draw) {
      const int multiple = draw_multiple(random, kModulus, m);
      REQUIRE(std::abs(multiple) <= kLargest);
      ++counts[multiple + kLargest];
    }
    check_law(counts, offset);
  }
}

TEST_CASE("ModRaise of ciphertexts leaves multiples of q_0 with this law") {
  KeyRequest request;
  request.need_raised(1, 1);
  TestParty party(insecure_bootstrappable(12), request);
  REQUIRE(party.context.spec().encapsulation_hamming_weight == kWeight);
  const Evaluator& evaluator = *party.evaluator;
  const Modulus &q0 = party.context.ring().q(0), &q1 = party.context.ring().q(1);
  std::array<long, 2 * kLargest + 1> counts{};
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    const Ciphertext low = party.encrypt(party.random_slots(seed), 0);
    const Ciphertext raised =
        evaluator.switch_from_ephemeral(evaluator.mod_raise(evaluator.switch_to_ephemeral(low), 1));
    RnsPoly t = party.decryptor.phase(raised).poly;
    to_coefficients(t);
    for (size_t i = 0; i < t.n(); ++i) {
      // t = m + q_0 I, |m| < q_0 / 2: I from t modulo q_1.
      const uint64_t difference = sub_mod(t.limb(1)[i], reduce_signed(centered(t.limb(0)[i], q0), q1), q1);
      const int64_t multiple =
          centered(mul_mod(difference, inverse_mod(reduce_mod(q0.value, q1), q1), q1), q1);
      REQUIRE(std::abs(multiple) <= kLargest);
      ++counts[multiple + kLargest];
    }
  }
  check_law(counts, 0);
}

TEST_CASE("the law sums to one at every offset and is the rational one") {
  for (const double offset : {0.0, 0x1p-10, 0.3, 0.5}) {
    double sum = 0;
    for (int i = -kWeight; i <= kWeight; ++i) sum += multiple_probability(i + offset);
    CHECK(sum == doctest::Approx(1).epsilon(1e-14));
  }
  // P(I = 16) = (1/2)^32 / 32!
  CHECK(std::log2(multiple_probability(16)) ==
        doctest::Approx(-32 - std::lgamma(33) / std::log(2)).epsilon(1e-14));
}

TEST_CASE("with weight 32 no multiple is beyond 16, and one beyond 10 meets one bootstrap in 2^22") {
  CHECK(kLargest == 16);
  // Alternating sums of rationals (Irwin and Hall), in Python's fractions.
  CHECK(log2_multiple_beyond(10, 0, 16) == doctest::Approx(-22.038160337040132).epsilon(1e-13));
  CHECK(log2_multiple_beyond(12, 0, 16) == doctest::Approx(-42.828879730388140).epsilon(1e-13));
  CHECK(log2_multiple_beyond(15, 0x1p-10, 16) == doctest::Approx(-132.57318315293458).epsilon(1e-13));
  for (const double margin : {0.0, 0x1p-10, 0.49}) CHECK(log2_multiple_beyond(16, margin, 16) == -INFINITY);
}

}  // namespace
}  // namespace psm::ckks
