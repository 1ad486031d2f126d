// The families besides GPT-NeoX under the trainer: they learn, and with the same bits for every number of threads.
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "doctest/doctest.h"
#include "train/evaluation.h"
#include "train/trainer.h"

namespace psm {
namespace {

// Which of two symbols a sequence has more of: a text of 3, 5 or 7 tokens, or an image of 5 patches whose first
// number is the symbol.
class Majority final : public DataSource {
 public:
  explicit Majority(bool images) : images_(images) {}

  int vocab() const override { return images_ ? 0 : 3; }
  int context() const override { return images_ ? 6 : 7; }
  int classes() const override { return 2; }
  int patch_inputs() const override { return images_ ? 2 : 0; }
  std::string description() const override { return "majority"; }

  void draw(int sequences, TrainingRandom& random, Batch& batch) const override {
    batch.sequences = sequences, batch.length = context();
    batch.tokens.clear(), batch.patches.clear(), batch.lengths.clear(), batch.targets.clear();
    for (int s = 0; s < sequences; ++s) {
      const int symbols = images_ ? 5 : 3 + 2 * static_cast<int>(random.integer(3));
      int ones = 0;
      for (int i = 0; i < (images_ ? 5 : 7); ++i) {
        const int symbol = i < symbols ? static_cast<int>(random.integer(2)) : 2;  // 2 fills up
        ones += symbol == 1;
        if (images_)
          batch.patches.insert(batch.patches.end(), {static_cast<float>(symbol), 0.5f});
        else
          batch.tokens.push_back(symbol);
      }
      if (!images_) batch.lengths.push_back(symbols);
      batch.targets.push_back(2 * ones > symbols);
    }
  }

  Batch validation(int sequences) const override {
    TrainingRandom random(99);
    Batch batch;
    draw(sequences, random, batch);
    return batch;
  }

 private:
  bool images_;
};

ModelConfig model_for(const Majority& data) {
  ModelConfig config = preset(data.patch_inputs() > 0 ? "vit" : "roberta");
  config.vocab = data.vocab(), config.context = data.context(), config.classes = 2;
  config.patch_inputs = data.patch_inputs();
  config.layers = 1, config.width = 16, config.heads = 2, config.ffn = 16;
  return config;
}

TrainerOptions options() {
  TrainerOptions options;
  options.batch = 32;
  options.rate = {3e-3, 20, 400, 0.05};
  options.ranges = default_range_losses();
  return options;
}

TEST_CASE("an encoder of texts of several lengths and one of images learn which symbol is in the majority") {
  for (const bool images : {false, true}) {
    CAPTURE(images);
    const Majority data(images);
    Trainer trainer(random_weights(model_for(data), 1), data, options());
    const Batch validation = data.validation(200);
    CHECK(evaluate(trainer.weights(), validation).scored == 200);
    double accuracy = 0;
    while (accuracy < 0.95 && trainer.steps() < 400) {
      for (int i = 0; i < 25; ++i) trainer.step();
      accuracy = evaluate(trainer.weights(), validation).accuracy();
    }
    CHECK(accuracy >= 0.95);
  }
}

TEST_CASE(
    "encoders give the same bits for every number of threads, and their steps ask the system for no memory") {
  const int before = thread_count();
  for (const bool images : {false, true}) {
    const Majority data(images);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      Trainer trainer(random_weights(model_for(data), 1), data, options());
      trainer.step();
      const std::size_t growths = trainer.memory_growths();
      for (int i = 0; i < 3; ++i) trainer.step();
      CHECK(trainer.memory_growths() == growths);
      results.push_back(trainer.state().values);
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
  set_thread_count(before);
}

TEST_CASE("what fills a batch up changes no bit of what the model gives") {
  const Majority data(false);
  const ModelWeights weights = random_weights(model_for(data), 1);
  Batch batch = data.validation(8), other = batch;
  for (int s = 0; s < 8; ++s)
    for (int t = batch.lengths[s]; t < batch.length; ++t) other.tokens[s * batch.length + t] = 1;
  REQUIRE(other.tokens != batch.tokens);
  CHECK(evaluate(weights, other).cross_entropy == evaluate(weights, batch).cross_entropy);
  batch.lengths.clear(), other.lengths.clear();
  CHECK(evaluate(weights, other).cross_entropy != evaluate(weights, batch).cross_entropy);
}

TEST_CASE("data of another kind than the model's are refused") {
  const Majority texts(false), images(true);
  CHECK_THROWS_AS(Trainer(random_weights(model_for(images), 1), texts, options()), Error);
  ModelConfig more = model_for(texts);
  more.classes = 3;
  CHECK_THROWS_WITH_AS(Trainer(random_weights(more, 1), texts, options()), doctest::Contains("2 classes"),
                       Error);
}

}  // namespace
}  // namespace psm
