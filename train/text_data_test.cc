#include "train/text_data.h"

#include <cstdlib>

#include "ckks/base/error.h"
#include "ckks/base/file.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("a text's alphabet encodes and decodes it and survives its written form") {
  const Alphabet alphabet("banana\n\xff");
  CHECK(alphabet.size() == 5);
  CHECK(alphabet.decode(alphabet.encode("nab\n\xff")) == "nab\n\xff");
  CHECK(Alphabet::from_string(alphabet.to_string(), "test") == alphabet);
  CHECK_THROWS_AS(alphabet.encode("bandana"), Error);
  CHECK_THROWS_AS(Alphabet().encode("a"), Error);
  for (const char* bad : {"6", "6g", "6261", "6161", "6162 "})
    CHECK_THROWS_AS(Alphabet::from_string(bad, "test"), Error);
}

TEST_CASE("windows predict the next byte and training never sees the held-out part") {
  std::string text(1000, 'a');
  for (int i = 0; i < 900; ++i) text[i] = static_cast<char>('b' + i % 3);
  for (int i = 900; i < 1000; ++i) text[i] = static_cast<char>('x' + i % 2);
  const TextData data(text, {.context = 8, .held_out = 0.1});
  CHECK(data.training_tokens() == 900);
  TrainingRandom random(3);
  Batch batch;
  data.draw(500, random, batch);
  CHECK(batch.scored() == 500 * 8);
  for (int s = 0; s < 500; ++s)
    for (int i = 0; i < 8; ++i) {
      CHECK(batch.tokens[s * 8 + i] < 3);
      CHECK(batch.targets[s * 8 + i] == (batch.tokens[s * 8 + i] + 1) % 3);
    }
  const Batch validation = data.validation(1000);
  CHECK(validation.sequences == 12);
  for (int token : validation.tokens) CHECK(token >= 3);
  CHECK(data.validation(4).sequences == 4);
}

TEST_CASE("a second text is held out whole, and its bytes are in the alphabet") {
  const TextData data(std::string(50, 'a') + std::string(50, 'b'), std::string(40, 'c'), {.context = 8});
  CHECK(data.vocab() == 3);
  CHECK(data.training_tokens() == 100);
  CHECK(data.held_out_tokens() == 40);
  TrainingRandom random(3);
  Batch batch;
  data.draw(500, random, batch);
  for (int token : batch.targets) CHECK(token < 2);
  for (int token : data.validation(1000).tokens) CHECK(token == 2);
  const TextData other(std::string(50, 'a') + std::string(50, 'b'), std::string(40, 'd'), {.context = 8});
  CHECK(data.description() != other.description());
}

TEST_CASE("texts that are too short, empty or missing are refused") {
  CHECK_THROWS_AS(TextData("", {}), Error);
  CHECK_THROWS_AS(TextData("short", {}), Error);
  CHECK_THROWS_AS(TextData(std::string(1000, 'a'), {.context = 64, .held_out = 1.5}), Error);
  CHECK_THROWS_AS(TextData(std::string(1000, 'a'), "short", {}), Error);
  CHECK_THROWS_AS(TextData("short", std::string(1000, 'a'), {}), Error);
  CHECK_THROWS_AS(TextData::from_file("/nonexistent/text", {}), Error);
  CHECK_THROWS_AS(TextData::from_files("/nonexistent/text", "/nonexistent/text", {}), Error);
}

}  // namespace
}  // namespace psm
