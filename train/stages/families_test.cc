// The families besides GPT-NeoX under the trainer: they learn, and with the same bits for every number of
// threads.

#include <cmath>

#include "ckks/base/testing/check.h"
#include "nn/text/bpe/tokenizer_json.h"
#include "train/data/masked_text_data.h"
#include "train/evaluation/evaluation.h"
#include "train/stages/recipe.h"
#include "train/stages/trainer.h"

namespace psm::train {
namespace {

// Which of two symbols a sequence has more of: a text of 3, 5 or 7 tokens, or an image of 5 patches whose
// first number is the symbol.
struct MajorityOptions {
  bool images = false;
  int filler = 2;   // token that fills texts up
  int symbols = 0;  // of each text; 0: 3, 5 or 7
  int length = 7;   // texts are filled up to it
};

class Majority : public DataSource {
 public:
  explicit Majority(bool images) : Majority(MajorityOptions{.images = images}) {}
  explicit Majority(const MajorityOptions& options) : options_(options) {}

  int vocab() const override { return options_.images ? 0 : 3; }
  int context() const override { return options_.images ? 6 : options_.length; }
  int classes() const override { return 2; }
  int patch_inputs() const override { return options_.images ? 2 : 0; }
  std::string description() const override { return "majority"; }

  Batch draw(int sequences, TrainingRandom& random) const override {
    Batch batch;
    batch.sequences = sequences, batch.length = context();
    for (int s = 0; s < sequences; ++s) {
      const int symbols = options_.images        ? 5
                          : options_.symbols > 0 ? options_.symbols
                                                 : 3 + 2 * static_cast<int>(random.integer(3));
      int ones = 0;
      for (int i = 0; i < (options_.images ? 5 : options_.length); ++i) {
        const int symbol = i < symbols ? static_cast<int>(random.integer(2)) : options_.filler;
        ones += i < symbols && symbol == 1;
        if (options_.images)
          batch.patches.insert(batch.patches.end(), {static_cast<float>(symbol), 0.5f});
        else
          batch.tokens.push_back(symbol);
      }
      if (!options_.images) batch.lengths.push_back(symbols);
      batch.targets.push_back(2 * ones > symbols);
    }
    return batch;
  }

  Batch validation(int sequences) const override {
    TrainingRandom random(99);
    return draw(sequences, random);
  }

 private:
  MajorityOptions options_;
};

attention::ModelConfig model_for(const Majority& data) {
  attention::ModelConfig config = attention::preset(data.patch_inputs() > 0 ? "vit" : "roberta");
  config.vocab = data.vocab(), config.context = data.context(), config.classes = 2;
  config.patch_inputs = data.patch_inputs();
  config.layers = 1, config.width = 16, config.heads = 2, config.ffn = 16;
  return config;
}

TrainerOptions options() {
  return {.batch = 32, .rate = {3e-3, 20, 400, 0.05}, .ranges = default_range_losses()};
}

TEST_CASE("an encoder of texts of several lengths and one of images learn which symbol is in the majority") {
  for (const bool images : {false, true}) {
    CAPTURE(images);
    const Majority data(images);
    Trainer trainer(attention::random_weights(model_for(data), 1), data, options());
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
  for (const bool images : {false, true}) {
    const Majority data(images);
    same_for_any_threads([&] {
      Trainer trainer(attention::random_weights(model_for(data), 1), data, options());
      trainer.step();
      const size_t growths = trainer.memory_growths();
      for (int i = 0; i < 3; ++i) trainer.step();
      CHECK(trainer.memory_growths() == growths);
      return trainer.state().values;
    });
  }
}

TEST_CASE("what fills a batch up changes no bit of a training with range losses") {
  const Majority data(false), other(MajorityOptions{.filler = 1});
  const attention::ModelWeights weights = attention::random_weights(model_for(data), 1);
  TrainerOptions losses = options();
  losses.ranges.score_limit = losses.ranges.gelu_limit = losses.ranges.residual_limit = 0.1;
  losses.ranges.final_residual_limit = losses.ranges.denominator_limit = 0.1;
  Trainer trainer(weights, data, losses), filled(weights, other, losses);
  for (int i = 0; i < 3; ++i) {
    const StepReport report = trainer.step();
    CHECK(report.range_loss > 0);
    CHECK(filled.step().range_loss == report.range_loss);
  }
  CHECK(filled.state().values == trainer.state().values);
}

TEST_CASE("the range losses of texts that are filled up are those of the texts alone") {
  const Majority data(MajorityOptions{.symbols = 5, .length = 7}),
      alone(MajorityOptions{.symbols = 5, .length = 5});
  const attention::ModelWeights weights = attention::random_weights(model_for(data), 1);
  const RangeLosses all = options().ranges;
  for (double RangeLosses::*const weight :
       {&RangeLosses::score_peak, &RangeLosses::gelu_peak, &RangeLosses::score_excess,
        &RangeLosses::gelu_excess, &RangeLosses::denominator_excess, &RangeLosses::variance_width,
        &RangeLosses::residual_excess, &RangeLosses::final_residual_excess}) {
    TrainerOptions one = options();
    one.ranges = {.score_limit = 0.01,
                  .gelu_limit = 0.1,
                  .denominator_limit = 1e-4,
                  .residual_limit = 0.1,
                  .final_residual_limit = 0.1,
                  .variance_half_width = 0.01};
    one.ranges.*weight = all.*weight;
    const double padded = Trainer(weights, data, one).step().range_loss;
    CHECK(padded > 0);
    CHECK(padded == doctest::Approx(Trainer(weights, alone, one).step().range_loss).scale(0).epsilon(1e-4));
  }
}

TEST_CASE("an image with a value that is not finite is refused") {
  const Majority images(true);
  Batch batch = images.validation(8);
  batch.patches[3 * 10 + 4] = std::nanf("");
  CHECK_REFUSED(evaluate(attention::random_weights(model_for(images), 1), batch),
                "holds a value that is not finite; mend the data");
}

TEST_CASE("a BERT learns what the words around a masked one say") {
  std::string text;
  for (int n = 0; n < 4000; ++n) text += std::string(1, "abcd"[n % 4]) + " ";
  const char* vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\nd\n";
  const MaskedTextData data(TextData(
      text, 13,
      std::make_shared<const nn::Tokenizer>(nn::spec_from_vocabulary(vocabulary, "", "test"), "test")));
  attention::ModelConfig config = attention::preset("bert");
  config.vocab = data.vocab(), config.context = data.context(), config.pooler = false, config.separator = 3;
  config.layers = 2, config.width = 32, config.heads = 2, config.ffn = 64;
  const attention::ModelWeights fresh = fresh_weights(config, 1, kEncoderTables),
                                random = attention::random_weights(config, 1);
  CHECK(fresh.layers[1].wk == random.layers[1].wq);
  CHECK(fresh.embedding[1] == doctest::Approx(kEncoderTables * random.embedding[1]));
  CHECK(fresh.type_embedding[1] == doctest::Approx(kEncoderTables * kPlaceTables * random.type_embedding[1]));
  Trainer trainer(fresh, data, {.batch = 16, .rate = {3e-3, 20, 600, 0.05}});
  const Batch validation = data.validation(20);
  double perplexity = 9;  // of four letters: 4
  while (perplexity > 2 && trainer.steps() < 600) {
    for (int i = 0; i < 50; ++i) trainer.step();
    perplexity = evaluate(trainer.weights(), validation).perplexity();
  }
  CHECK(perplexity <= 2);
}

TEST_CASE("data of another kind than the model's are refused") {
  const Majority texts(false), images(true);
  CHECK_THROWS_AS(Trainer(attention::random_weights(model_for(images), 1), texts, options()), Error);
  attention::ModelConfig more = model_for(texts);
  more.classes = 3;
  CHECK_REFUSED(Trainer(attention::random_weights(more, 1), texts, options()), "2 classes");
}

}  // namespace
}  // namespace psm::train
