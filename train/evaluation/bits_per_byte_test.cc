#include <cmath>

#include "doctest/doctest.h"
#include "nn/text/bpe/alphabet.h"
#include "nn/text/bpe/bpe.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "train/evaluation/evaluation.h"

namespace psm::train {
namespace {

TEST_CASE("a guess among n equal tokens of b bytes costs log2(n) / b bits a byte") {
  const nn::Bpe tokenizer(nn::train_byte_bpe("abab abab abab", {.vocab = 259, .special = {}}), "test");
  Batch batch;
  batch.targets = {tokenizer.encode("abab")[0], -1, tokenizer.encode("a")[0]};
  Evaluation guess;
  guess.scored = 2;
  guess.cross_entropy = std::log(256.0);
  const double bytes = bytes_per_target(batch, tokenizer);
  CHECK(bytes == 2.5);
  CHECK(bits_per_byte(guess, bytes) == doctest::Approx(8 / 2.5));
}

TEST_CASE("characters are a byte each, and where nothing is scored there are none") {
  Batch batch;
  batch.targets = {0, 1, -1, 1};
  CHECK(bytes_per_target(batch, *nn::alphabet_of("ab")) == 1);
  batch.targets = {-1};
  CHECK(bytes_per_target(batch, *nn::alphabet_of("ab")) == 0);
  CHECK(bits_per_byte({}, 0) == 0);
}

}  // namespace
}  // namespace psm::train
