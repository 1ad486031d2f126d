#include "ckks/linalg/apply_transform.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/testing/chance.h"
#include "ckks/base/testing/check.h"
#include "ckks/linalg/linear_transform.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::ckks {
namespace {

// ---- as data ------------------------------------------------------------------------------------------------------

TEST_CASE("baby steps and giant steps compute the matrix, negative offsets included") {
  const int slots = 64;
  DiagonalMatrix matrix(slots, 16);
  for (int k = -10; k <= 13; ++k) matrix.add(2 * k, random_slots(k, 16));
  const std::vector<Complex> x = random_slots(100, slots);
  const std::vector<Complex> expected = matrix.apply(x);
  for (const int babies : {1, 4, 5, 32}) {
    const LinearTransform transform = baby_step_giant_step(matrix, 2, babies);
    CHECK(max_error(transform.apply(std::vector<std::vector<Complex>>{x})[0], expected) < 1e-12);
  }
}

TEST_CASE("31 diagonals with 8 babies take 7 hoisted and 3 giant rotations of one offset") {
  DiagonalMatrix matrix(256, 256);
  for (int k = 0; k < 31; ++k) matrix.add(4 * k, random_slots(k, 256));
  const TransformSchedule plan = transform_schedule(baby_step_giant_step(matrix, 4, 8), 256);
  CHECK(plan.counts.hoisted_rotations == 7);
  CHECK(plan.counts.giant_rotations == 3);
  for (const auto& step : plan.steps) CHECK(step.by == 32);
}

TEST_CASE("giants on both sides come to zero with one offset and its negative") {
  LinearTransform transform;
  transform.outputs = 2;
  for (const int giant : {-16, -8, 0, 8, 16})
    transform.terms.push_back({0, giant, 0, 1, false, Plain::constant(1)});
  // No term with giant 0: the result of the chain still stands there.
  transform.terms.push_back({1, 24, 0, 0, true, Plain::constant(1)});
  const TransformSchedule plan = transform_schedule(transform, 64);
  REQUIRE(plan.steps.size() == 5);
  for (int i = 0; i < 4; ++i) CHECK(std::abs(plan.steps[i].by) == 8);
  CHECK(plan.steps[4].by == 24);
  CHECK(plan.accumulators[plan.results[1]].giant == 0);
  CHECK(plan.counts.hoisted_rotations == 2);  // rot_1(x) and conj(x)
  CHECK(plan.counts.hoisted_inputs == 1);
  CHECK(plan.counts.meetings == 4);  // the fifth step ends where nothing is
}

TEST_CASE("a plaintext vector must have a power of two of finite slots") {
  CHECK_THROWS_AS(Plain(std::vector<Complex>(3)), Error);
  CHECK_THROWS_AS(Plain(std::vector<Complex>{}), Error);
  CHECK_THROWS_AS(Plain(std::vector<Complex>{Complex(0, NAN)}), Error);
  const Plain plain(std::vector<Complex>{1.0, -3.0});
  CHECK(plain.real());
  CHECK(plain.at(5) == Complex(-3));
  CHECK_FALSE(Plain::constant({0, 1}).real());
  CHECK_FALSE(Plain::shape_only(8, true).has_data());
}

DiagonalMatrix matrix(int slots, int period, std::initializer_list<int> offsets) {
  DiagonalMatrix m(slots, period);
  for (const int k : offsets) m.add(k, random_slots(k, period));
  return m;
}

TEST_CASE("a product of matrices acts as one after the other, periods mixed") {
  const DiagonalMatrix a = matrix(32, 8, {0, 3, -2}), b = matrix(32, 32, {1, 17});
  const std::vector<Complex> x = random_slots(100, 32);
  const DiagonalMatrix product = a.times(b);
  CHECK(product.period() == 32);
  CHECK(max_error(product.apply(x), a.apply(b.apply(x))) < 1e-12);
}

TEST_CASE("rotations on both sides renumber a matrix's slots and arguments") {
  const DiagonalMatrix a = matrix(32, 8, {0, 3, -2});
  const std::vector<Complex> x = random_slots(100, 32);
  CHECK(max_error(a.between_rotations(5, 9).apply(x), rotated(a.apply(rotated(x, 9)), 5)) < 1e-12);
}

TEST_CASE("on more slots a matrix does to periodic vectors what it did on few") {
  const DiagonalMatrix a = matrix(16, 8, {0, 3, -2});
  const std::vector<Complex> x = random_slots(100, 16), y = a.apply(x);
  const auto twice = [](std::vector<Complex> v) {
    v.resize(32);
    std::copy_n(v.begin(), 16, v.begin() + 16);
    return v;
  };
  CHECK(max_error(a.on_slots(32).apply(twice(x)), twice(y)) < 1e-12);
}

TEST_CASE("offsets that agree modulo the number of slots are one diagonal") {
  const DiagonalMatrix a = matrix(16, 16, {8, -8, 24});
  CHECK(a.diagonals().size() == 1);
}

// ---- on ciphertexts ------------------------------------------------------------------------------------------------

struct Fixture : TestParty {
  Fixture() : TestParty(insecure_leveled(10, 5)) {}
  Level level = context.max_level() - 1;

  // The encrypted transform is its definition, but for an error that chance allows, whether or not it divides sources.
  void check(LinearTransform transform, const std::vector<std::vector<Complex>>& inputs) {
    for (const bool divides_sources : {false, true}) {
      transform.divides_sources = divides_sources;
      CAPTURE(divides_sources);
      check_one(transform, inputs);
    }
  }
  void check_one(const LinearTransform& transform, const std::vector<std::vector<Complex>>& inputs) {
    const EncodedTransform encoded(context, encoder, transform, level, context.scale(level),
                                   context.scale(level - 1));
    KeyRequest request;
    request_keys(encoded.schedule(), context.chain(), level, request);
    const EvaluationKeys keys = generator.evaluation_keys(request);
    const Evaluator evaluator(context, keys);
    std::vector<Ciphertext> ciphertexts;
    for (const auto& x : inputs) ciphertexts.push_back(encrypt(x, level));
    std::vector<const Ciphertext*> pointers;
    for (const auto& c : ciphertexts) pointers.push_back(&c);
    const std::vector<Ciphertext> out = encoded.apply(evaluator, pointers);
    const auto expected = transform.apply(inputs);
    double worst = 0;
    for (size_t o = 0; o < out.size(); ++o) {
      CHECK(out[o].level() == level - 1);
      CHECK(out[o].scale() == context.scale(level - 1));
      worst = worse(worst, max_error(decrypt(out[o]), expected[o]));
    }
    // The errors of encryption come together with weights of sqrt(2) at most; the map itself adds less than one.
    const double fresh = NoiseModel(context).encryption(context.scale(level));
    CHECK(worst < largest_laplace(2 * out.size() * static_cast<size_t>(context.slots())) *
                      std::sqrt(2.0 * static_cast<double>(transform.terms.size())) * fresh);
  }
};

Fixture& fixture() {
  static Fixture instance;
  return instance;
}

TEST_CASE("a term that a map repeats counts each time, and no tile has more columns than its block sources") {
  Fixture& f = fixture();
  LinearTransform transform{.outputs = 1, .terms = {}};
  for (int t = 0; t < 300; ++t) {
    std::vector<Complex> weight = random_slots(t, 16);
    for (Complex& value : weight) value *= 0.1;  // the terms of a source add up its errors
    transform.terms.push_back({.baby = t % 2, .weight = Plain(std::move(weight))});
  }
  f.check(transform, {f.random_slots(300)});
  const TransformSchedule schedule = transform_schedule(transform, static_cast<size_t>(f.context.slots()));
  size_t terms = 0;
  for (const WeightBlock& block : transform_blocks(transform, schedule).blocks)
    for (const WeightTile& tile : block.tiles) {
      CHECK(tile.sources.size() <= 2);
      terms += tile.terms.size();
    }
  CHECK(terms == 300);
}

TEST_CASE("a banded matrix with periodic diagonals is applied by baby and giant steps") {
  Fixture& f = fixture();
  const int slots = f.context.slots();
  for (const int period : {1, 16, slots}) {
    DiagonalMatrix matrix(slots, period);
    for (int k = -9; k <= 12; ++k) matrix.add(4 * k, random_slots(k, period));
    CAPTURE(period);
    f.check(baby_step_giant_step(matrix, 4, 4), {f.random_slots(100)});
  }
}

TEST_CASE("several inputs, conjugates and outputs share their rotations, periods mixed") {
  Fixture& f = fixture();
  const int slots = f.context.slots();
  LinearTransform transform;
  transform.outputs = 3;
  int seed = 0;
  for (int output = 0; output < 2; ++output) {
    for (const int giant : {-64, 0, 32}) {
      for (int input = 0; input < 2; ++input) {
        for (const int baby : {-3, 0, 1, 200}) {
          for (const bool conjugate : {false, true}) {
            const int period = (seed % 3 == 0) ? slots : 8 << (seed % 4);
            transform.terms.push_back(
                {output, giant, input, baby, conjugate, Plain(random_slots(++seed, period))});
          }
        }
      }
    }
  }
  // An output of one term, away from giant 0.
  transform.terms.push_back({2, 5, 1, 0, false, Plain::constant({0.5, -0.25})});
  f.check(transform, {f.random_slots(1000), f.random_slots(1001)});
}

TEST_CASE("encoded block by block for one use, the results have the same bits") {
  Fixture& f = fixture();
  const int slots = f.context.slots();
  // Several blocks of sources, weights of two periods, and lone masks of two rotations.
  LinearTransform transform{.outputs = 4};
  for (int baby = 0; baby < 70; ++baby) {
    for (const int output : {0, 1}) {
      if (output == 1 && baby >= 40) continue;
      transform.terms.push_back({.output = output,
                                 .giant = baby % 2 == 0 ? 0 : 64,
                                 .baby = baby,
                                 .weight = Plain(random_slots(2 * baby + output, output == 0 ? 8 : slots))});
    }
  }
  for (const int output : {2, 3})
    transform.terms.push_back(
        {.output = output, .baby = 50 * output, .weight = Plain(random_slots(1000 + output, slots))});
  const TransformSchedule schedule = transform_schedule(transform, f.context.slots());
  KeyRequest request;
  request_keys(schedule, f.context.chain(), f.level, request);
  const EvaluationKeys keys = f.generator.evaluation_keys(request);
  const Evaluator evaluator(f.context, keys);
  const Ciphertext input = f.encrypt(f.random_slots(2000), f.level);
  const Ciphertext* const inputs[] = {&input};
  const Scale scale = f.context.scale(f.level), output_scale = f.context.scale(f.level - 1);
  for (const bool divides_sources : {false, true}) {
    transform.divides_sources = divides_sources;
    CAPTURE(divides_sources);
    CHECK(transform_blocks(transform, schedule).blocks.size() == (divides_sources ? 2 : 3));
    const EncodedTransform kept(f.context, f.encoder, transform, f.level, scale, output_scale);
    const std::vector<Ciphertext> expected = kept.apply(evaluator, inputs);
    double seconds = 0;
    const std::vector<Ciphertext> once = encode_and_apply(f.context, f.encoder, transform, f.level, scale,
                                                          output_scale, evaluator, inputs, seconds);
    CHECK(seconds > 0);
    REQUIRE(once.size() == expected.size());
    for (size_t o = 0; o < once.size(); ++o) CHECK(same_bits(once[o], expected[o]));
  }
}

TEST_CASE(
    "a raised ciphertext leaves the ephemeral secret by the keys of its sources: babies, giants, lone "
    "terms") {
  TestParty t(insecure_bootstrappable(10));
  const Level level = t.context.max_level() - 1;
  const auto slots = static_cast<size_t>(t.context.slots());
  LinearTransform transform{.outputs = 2};
  for (const int giant : {0, 8, -8})
    for (const int baby : {0, 1, 3})
      transform.terms.push_back({.giant = giant,
                                 .baby = baby,
                                 .conjugate = baby == 3,
                                 .weight = Plain(random_slots(10 * baby + giant, baby == 1 ? 16 : slots))});
  transform.terms.push_back({.output = 1, .baby = 5, .weight = Plain(random_slots(100, slots))});
  const Scale from(64.0 * static_cast<double>(t.context.q(0))), to = t.context.scale(level - 1);
  KeyRequest request;
  request.need_raised(1, level);
  for (const bool from_ephemeral : {false, true}) {
    transform.from_ephemeral = from_ephemeral;
    request_keys(transform_schedule(transform, slots), t.context.chain(), level, request);
  }
  t.add_keys(request);
  const Evaluator& e = *t.evaluator;
  Ciphertext raised = e.mod_raise(e.switch_to_ephemeral(t.encrypt(t.random_slots(101), 0)), level);
  raised.declare_scale(from);
  const Ciphertext switched = e.switch_from_ephemeral(raised);
  std::vector<Ciphertext> out[2];
  for (const bool from_ephemeral : {false, true}) {
    transform.from_ephemeral = from_ephemeral;
    const Ciphertext* const inputs[] = {from_ephemeral ? &raised : &switched};
    out[from_ephemeral] = EncodedTransform(t.context, t.encoder, transform, level, from, to).apply(e, inputs);
  }
  const NoiseModel noise(t.context);
  const double each = noise.key_switch(level, from) + noise.raised_digit(level, from) + noise.rescale(from);
  const double bound = largest_laplace(4 * slots) * (2 * noise.rescale(to) + 10 * std::sqrt(2.0) * each);
  for (size_t o = 0; o < 2; ++o) {
    const Slots expected = t.decrypt(out[false][o]);
    CHECK(max_error(t.decrypt(out[true][o]), expected) < bound);
    CHECK(max_error(expected, Slots(slots)) > 1e3 * bound);
  }
}

TEST_CASE("what is encoded at a time is the largest block, or the lone terms of one rotation") {
  const size_t slots = 512;
  LinearTransform transform{.outputs = 7};
  for (int baby = 0; baby < 40; ++baby)
    for (const int output : {0, 1})
      transform.terms.push_back({.output = output, .baby = baby, .weight = Plain::shape_only(16, false)});
  const auto largest = [&] { return largest_block_values(transform, transform_schedule(transform, slots)); };
  CHECK(largest() == size_t{30} * 2 * 16);
  for (int output = 2; output < 7; ++output)  // five masks of one rotation: four and one
    transform.terms.push_back(
        {.output = output, .input = output, .baby = 3, .weight = Plain::shape_only(slots, false)});
  CHECK(largest() == 4 * slots);
}

TEST_CASE("inputs of another key pair or of other parameters are refused, rotated or not") {
  Fixture& f = fixture();
  const LinearTransform sum{
      .terms = {{.input = 0, .weight = Plain::constant(1)}, {.input = 1, .weight = Plain::constant(1)}}};
  const EncodedTransform encoded(f.context, f.encoder, sum, f.level, f.context.scale(f.level),
                                 f.context.scale(f.level - 1));
  Ciphertext a = f.encrypt(f.random_slots(1), f.level), b = a.clone();
  const Ciphertext* const inputs[] = {&a, &b};
  CHECK(encoded.apply(*f.evaluator, inputs).size() == 1);
  ++b.fingerprint.key;
  CHECK_THROWS_AS(encoded.apply(*f.evaluator, inputs), Error);
  for (Ciphertext* input : {&a, &b}) input->fingerprint = {f.context.fingerprint() + 1, 1};
  CHECK_THROWS_AS(encoded.apply(*f.evaluator, inputs), Error);
}

TEST_CASE("a missing rotation key is refused before any work is done") {
  Fixture& f = fixture();
  const int slots = f.context.slots();
  DiagonalMatrix matrix(slots, 1);
  matrix.add(3, std::vector<Complex>{1.0});
  const EncodedTransform encoded(f.context, f.encoder, baby_step_giant_step(matrix, 1, 4), f.level,
                                 f.context.scale(f.level), f.context.scale(f.level - 1));
  EvaluationKeys none;
  none.fingerprint = f.secret.fingerprint();
  const Evaluator evaluator(f.context, none);
  CHECK_THROWS_AS(encoded.apply(evaluator, f.encrypt(f.random_slots(1), f.level)), Error);
}

}  // namespace
}  // namespace psm::ckks
