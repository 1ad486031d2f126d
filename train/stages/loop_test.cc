#include "train/stages/loop.h"

#include <filesystem>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "train/data/recall_task.h"

namespace psm::train {
namespace {

std::string fresh(const char* name) {
  const std::string path = path_of(name);
  std::filesystem::remove(path);
  return path;
}

const RecallTask kTask({3, 4, 2, 12});

attention::ModelWeights start() {
  attention::ModelConfig config;
  config.vocab = kTask.vocab(), config.context = kTask.context();
  config.layers = 1, config.width = 16, config.heads = 2, config.ffn = 16,
  config.form = attention::PowerForm::kStable;
  return attention::random_weights(config, 1);
}

TrainerOptions training() { return {.batch = 8, .rate = {3e-3, 5, 30, 0.05}}; }

LoopOptions loop_of(size_t steps, const std::string& file) {
  return {
      .steps = steps, .evaluate_every = 10, .validation_sequences = 20, .state_file = file, .save_every = 4};
}

TEST_CASE("a training that was killed and resumed ends with the same bits") {
  const std::string file = fresh("killed.training");
  const LoopResult whole = run_training(start(), kTask, training(), loop_of(30, ""));
  CHECK(whole.steps == 30);
  CHECK(whole.tokens_per_second > 0);

  // The state that a kill after step 13 leaves behind: that of step 12.
  const LoopResult unsaved = run_training(start(), kTask, training(), loop_of(30, file));
  CHECK(attention::flatten(unsaved.weights) == attention::flatten(whole.weights));
  Trainer trainer(start(), kTask, training());
  for (int i = 0; i < 12; ++i) trainer.step();
  save_training(file, nn::read_safetensors(file).metadata.at("training"), trainer.state());

  std::vector<size_t> told;
  LoopOptions loop = loop_of(30, file);
  loop.evaluated = [&](size_t step, const Evaluation&) { told.push_back(step); };
  const LoopResult resumed = run_training(start(), kTask, training(), loop);
  CHECK(told == std::vector<size_t>{20, 30});
  CHECK(resumed.resumed_at == 12);
  CHECK(resumed.steps == 30);
  CHECK(attention::flatten(resumed.weights) == attention::flatten(whole.weights));
  CHECK(resumed.validation.cross_entropy == whole.validation.cross_entropy);
  CHECK(whole.tokens == 30u * 8 * static_cast<uint64_t>(kTask.context()));
  CHECK(resumed.tokens == whole.tokens);

  // And that after the last step.
  const LoopResult again = run_training(start(), kTask, training(), loop_of(30, file));
  CHECK(again.resumed_at == 30);
  CHECK(again.validation.cross_entropy == whole.validation.cross_entropy);
  CHECK(attention::flatten(again.weights) == attention::flatten(whole.weights));
}

TEST_CASE("a state that holds a NaN is refused") {
  const std::string file = fresh("nan.training");
  run_training(start(), kTask, training(), loop_of(8, file));
  nn::Safetensors content = nn::read_safetensors(file);
  content.tensors[1].values[3] = std::nanf("");
  nn::write_safetensors(file, content);
  CHECK_THROWS_WITH_AS(run_training(start(), kTask, training(), loop_of(8, file)),
                       (file + " holds a value that is not finite; delete it to begin anew").c_str(), Error);
}

TEST_CASE("training stops once the held-out accuracy is reached, and is then at its end") {
  LoopOptions loop = loop_of(100, fresh("reached.training"));
  loop.stop_accuracy = 0.01;
  for (const size_t resumed_at : {0, 10}) {
    const LoopResult result = run_training(start(), kTask, training(), loop);
    CHECK(result.resumed_at == resumed_at);
    CHECK(result.steps == 10);
  }
}

TEST_CASE("a state file of another training or a damaged one is refused") {
  const std::string file = fresh("other.training");
  run_training(start(), kTask, training(), loop_of(8, file));
  TrainerOptions other = training();
  other.seed = 77;
  CHECK_THROWS_AS(run_training(start(), kTask, other, loop_of(8, file)), Error);
  std::string bytes = read_file(file, 1 << 30);
  write_file(file, bytes.substr(0, bytes.size() - 5));
  CHECK_THROWS_AS(run_training(start(), kTask, training(), loop_of(8, file)), Error);
}

TEST_CASE("a divergence names the last good state, also when it is resumed") {
  const std::string file = fresh("diverged.training");
  TrainerOptions wild = training();
  wild.rate = {1e30, 1, 30, 1.0};
  LoopOptions loop = loop_of(30, file);
  loop.save_every = 1;
  for (int run = 0; run < 2; ++run) {
    try {
      run_training(start(), kTask, wild, loop);
      FAIL("no error");
    } catch (const Diverged& error) {
      CHECK(error.kind() == Error::Kind::kFailed);
      const std::string text = error.what();
      CAPTURE(text);
      CHECK(contains(text, "diverged at step"));
      CHECK(contains(text, "last good state: step 1 in " + file));
    }
  }
}

}  // namespace
}  // namespace psm::train
