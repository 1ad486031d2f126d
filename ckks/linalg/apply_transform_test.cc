#include "ckks/linalg/apply_transform.h"

#include <cmath>

#include "ckks/base/error.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

std::vector<Complex> sample(int n, double seed) {
  std::vector<Complex> x(n);
  for (int j = 0; j < n; ++j) x[j] = {std::sin(seed * j + 0.3), std::cos(seed + 2.9 * j * j)};
  return x;
}

struct Fixture {
  Context context{insecure_leveled(10, 5)};
  Encoder encoder{context};
  SecretKey secret = SecretKey::generate(context);
  KeyGenerator generator{secret};
  PublicKey public_key = generator.public_key();
  Encryptor encryptor{context, public_key};
  Decryptor decryptor{secret, encoder};
  Level level = context.max_level() - 1;

  Ciphertext encrypt(const std::vector<Complex>& x) { return encryptor.encrypt(encoder.encode(x, level)); }

  // The largest error of the encrypted transform against its definition.
  double error(const LinearTransform& transform, const std::vector<std::vector<Complex>>& inputs) {
    const EncodedTransform encoded(context, encoder, transform, level, context.scale(level),
                                   context.scale(level - 1));
    KeyRequest request;
    request_keys(encoded.schedule(), context.chain(), level, request);
    const EvaluationKeys keys = generator.evaluation_keys(request);
    const Evaluator evaluator(context, keys);
    std::vector<Ciphertext> ciphertexts;
    for (const auto& x : inputs) ciphertexts.push_back(encrypt(x));
    std::vector<const Ciphertext*> pointers;
    for (const auto& c : ciphertexts) pointers.push_back(&c);
    const std::vector<Ciphertext> out = encoded.apply(evaluator, pointers);
    const auto expected = transform.apply(inputs);
    double worst = 0;
    for (size_t o = 0; o < out.size(); ++o) {
      CHECK(out[o].level() == level - 1);
      CHECK(out[o].scale() == context.scale(level - 1));
      const std::vector<Complex> values = decryptor.decrypt(out[o]);
      for (size_t s = 0; s < values.size(); ++s)
        worst = std::max(worst, std::abs(values[s] - expected[o][s]));
    }
    return worst;
  }
};

Fixture& fixture() {
  static Fixture instance;
  return instance;
}

TEST_CASE("a banded matrix with periodic diagonals is applied by baby and giant steps") {
  Fixture& f = fixture();
  const int slots = f.context.slots();
  for (const int period : {1, 16, slots}) {
    DiagonalMatrix matrix(slots, period);
    for (int k = -9; k <= 12; ++k) matrix.add(4 * k, sample(period, 0.1 * k + 1));
    CAPTURE(period);
    CHECK(f.error(baby_step_giant_step(matrix, 4, 4), {sample(slots, 0.77)}) < 0x1p-20);
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
                {output, giant, input, baby, conjugate, Plain(sample(period, 0.01 * ++seed))});
          }
        }
      }
    }
  }
  // An output of one term, away from giant 0.
  transform.terms.push_back({2, 5, 1, 0, false, Plain::constant({0.5, -0.25})});
  CHECK(f.error(transform, {sample(slots, 0.31), sample(slots, 0.53)}) < 0x1p-19);
}

TEST_CASE("a diagonal matrix takes no key at all") {
  Fixture& f = fixture();
  const int slots = f.context.slots();
  DiagonalMatrix matrix(slots, slots);
  matrix.add(0, sample(slots, 0.2));
  const LinearTransform transform = baby_step_giant_step(matrix, 1, 1);
  KeyRequest request;
  request_keys(transform_schedule(transform, f.context.slots()), f.context.chain(), f.level, request);
  CHECK(request.galois_levels.empty());
  CHECK(f.error(transform, {sample(slots, 0.77)}) < 0x1p-20);
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
  CHECK_THROWS_AS(encoded.apply(evaluator, f.encrypt(sample(slots, 0.1))), Error);
}

}  // namespace
}  // namespace psm::ckks
