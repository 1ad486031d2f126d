#include "ckks/scheme/sharing/flooding.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/testing/chance.h"
#include "ckks/scheme/errors/worst_case.h"
#include "ckks/scheme/sharing/sharing_decryptor.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

// (x + y) y at scales that leave room for flooding: encoded at 2^150, rescaled to about 2^140 at level 4.
struct Shallow {
  static constexpr int kLevel = 8, kRescales = 4;
  static constexpr Scale kScale{0x1p150};

  Shallow() : party(insecure_leveled(11, kLevel)), decryptor(party.secret, party.encoder) {
    KeyRequest request;
    request.need_relinearisation(kLevel);
    party.add_keys(request);
    const Evaluator& evaluator = *party.evaluator;
    const Slots x = party.random_slots(1), y = party.random_slots(2);
    for (size_t i = 0; i < x.size(); ++i) expected.push_back((x[i] + y[i]) * y[i]);
    const auto encrypt = [&](const Slots& v) {
      return party.encryptor.encrypt(party.encoder.encode(v, kLevel, kScale));
    };
    const Ciphertext a = encrypt(x), b = encrypt(y);
    result = evaluator.multiply(evaluator.add(a, b), b);
    for (int i = 0; i < kRescales; ++i) evaluator.rescale_inplace(result);

    const WorstCaseModel model(party.context);
    const double fresh = model.encryption(kScale), size = std::sqrt(2.0);
    error =
        WorstCaseModel::product(2 * size, 2 * fresh, size, fresh) + model.key_switch(kLevel, kScale * kScale);
    Scale scale = kScale * kScale;
    for (int i = 0; i < kRescales; ++i) {
      scale = after_rescale(scale, party.context.q(kLevel - i));
      error += model.rescale(scale);
    }
  }

  Flooding plan(const SharingTerms& terms) const {
    return plan_flooding(party.context, result.level(), result.scale(), 4, error, terms);
  }

  TestParty party;
  SharingDecryptor decryptor;
  Slots expected;
  Ciphertext result;
  double error = 0;
};

Shallow& shallow() {
  static Shallow shallow;
  return shallow;
}

double deviation_of_real_parts(const Slots& a, const Slots& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::pow(a[i].real() - b[i].real(), 2);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

TEST_CASE("one sum and one product at a large scale are shared with the precision that was promised") {
  const Flooding flooding = shallow().plan({.queries = 1 << 20, .precision_bits = 30});
  CHECK(flooding.precision_bits > 30);
  const Slots shared = shallow().decryptor.decrypt(shallow().result, flooding);
  // The noise hides the error: what is measured is its deviation, over N/2 real parts.
  const double measured = deviation_of_real_parts(shared, shallow().expected);
  const double promised = std::exp2(-flooding.precision_bits);
  CHECK(mean_square(1024).holds(std::pow(measured / promised, 2)));
  const Slots again = shallow().decryptor.decrypt(shallow().result, flooding);
  CHECK(mean_square(1024).holds(std::pow(deviation_of_real_parts(shared, again) / promised, 2) / 2));
}

TEST_CASE("the deviation is the equation's") {
  const SharingTerms terms{.queries = 100, .precision_bits = 20, .statistical_bits = 64};
  const Flooding flooding = shallow().plan(terms);
  const double distance = shallow().error * shallow().result.scale() + std::sqrt(2048.0) / 2;
  CHECK(flooding.deviation == doctest::Approx(std::sqrt(1200.0) * 0x1p32 * distance));
  // Divergence of all answers together, and total variation by Pinsker.
  const double divergence = 100 * std::pow(distance / flooding.deviation, 2) / 2;
  CHECK(divergence == doctest::Approx(0x1p-64 / 24));
  CHECK(flooding.total_variation >= std::sqrt(divergence / 2));
  CHECK(flooding.total_variation < 0x1p-32 / 6.9);
  // Twice the statistical bits cost half of them in precision, four times the answers one bit.
  CHECK(shallow().plan({.queries = 100, .statistical_bits = 128}).precision_bits ==
        doctest::Approx(flooding.precision_bits - 32));
  CHECK(shallow().plan({.queries = 400, .statistical_bits = 64}).precision_bits ==
        doctest::Approx(flooding.precision_bits - 1));
}

TEST_CASE(
    "128 bits are those of Micciancio and Walter; the total variation of 2^20 answers at N = 2^16 is "
    "2^-66.5") {
  const auto log2_variation = [&](uint64_t queries) {
    return std::log2(shallow().plan({.queries = queries}).total_variation);
  };
  CHECK(log2_variation(1) == doctest::Approx(-64 - std::log2(48) / 2).epsilon(1e-6));
  // 2^11 coefficients here: 2^5 of the sampler's shares fewer.
  const double sampler = std::exp2(log2_variation(1 << 20)) - std::exp2(log2_variation(1));
  CHECK(std::log2(std::exp2(log2_variation(1)) + 32 * sampler) == doctest::Approx(-66.526).epsilon(1e-4));
}

// What a distinguisher gains that answers "first" above a threshold on the likelihood ratio of two normal
// laws `shift` deviations apart, "second" below its negative, and nothing between.
struct Distinguisher {
  double answers, right;  // probability of an answer, and that it is right
};
Distinguisher distinguisher(double shift, double threshold) {
  const auto above = [](double x) { return std::erfc(x / std::sqrt(2.0)) / 2; };
  const double right = above(threshold - shift / 2), wrong = above(threshold + shift / 2);
  return {right + wrong, right / (right + wrong)};
}

TEST_CASE("no distinguisher of two normal laws gains more than the two measures allow, abstaining or not") {
  for (const double shift : {1e-4, 1e-2, 1.0}) {
    const double divergence = shift * shift / 2;
    double most = 0;
    for (double threshold = 0; threshold < 6; threshold += 0.01) {
      const Distinguisher d = distinguisher(shift, threshold);
      const double advantage = d.answers * std::pow(2 * d.right - 1, 2);
      most = std::max(most, advantage);
      CHECK(advantage <= divergence * 2 / 3);
    }
    CHECK(most > divergence * (shift < 0.5 ? 0.4 : 0.2));  // the bound is no empty one
    const double variation = 2 * distinguisher(shift, 0).right - 1;
    CHECK(variation <= std::sqrt(divergence / 2));
    CHECK(variation > 0.7 * std::sqrt(divergence / 2));
  }
}

TEST_CASE("a result of the usual scale is refused, with bound, terms and what would be left") {
  const Context& context = shallow().party.context;
  const WorstCaseModel model(context);
  const Scale scale = context.scale(2);
  try {
    plan_flooding(context, 2, scale, 1, model.encryption(scale), {.queries = 16, .precision_bits = 10});
    FAIL("not refused");
  } catch (const Error& error) {
    const std::string text = error.what();
    CAPTURE(text);
    CHECK(text.find("not safe to share") != std::string::npos);
    CHECK(text.find("16 answers to 128 bits (Micciancio-Walter; total variation 2^-66.8)") !=
          std::string::npos);
    CHECK(text.find("of the 10.0 asked for") != std::string::npos);
  }
}

TEST_CASE("an infinite bound, and what a product of it with zero is, are refused") {
  for (const double error : {double{INFINITY}, std::nan("")}) {
    CHECK_THROWS_WITH_AS(
        plan_flooding(shallow().party.context, 2, Scale(0x1p40), 1, error, {.precision_bits = -100}),
        doctest::Contains("beyond all bounds"), Error);
  }
}

TEST_CASE(
    "noise beyond the modulus, impossible limits, and ciphertexts that were not planned for are refused") {
  const Context& context = shallow().party.context;
  CHECK_THROWS_WITH_AS(plan_flooding(context, 1, Scale(0x1p85), 0x1p10, 0x1p-84, {.queries = 1}),
                       doctest::Contains("does not fit the modulus"), Error);
  CHECK_THROWS_WITH_AS(shallow().plan({.queries = 0}), doctest::Contains("from 1 to"), Error);
  CHECK_THROWS_WITH_AS(shallow().plan({.queries = SharingTerms::kMaxQueries + 1}),
                       doctest::Contains("from 1 to"), Error);
  const Flooding flooding = shallow().plan({});
  Ciphertext lower = shallow().party.evaluator->truncate_to_level(shallow().result, 3);
  CHECK_THROWS_WITH_AS(shallow().decryptor.decrypt(lower, flooding), doctest::Contains("another computation"),
                       Error);
  Ciphertext foreign = shallow().result.clone();
  foreign.fingerprint.key ^= 1;
  CHECK_THROWS_WITH_AS(shallow().decryptor.decrypt(foreign, flooding), doctest::Contains("another key pair"),
                       Error);
}

}  // namespace
}  // namespace psm::ckks
