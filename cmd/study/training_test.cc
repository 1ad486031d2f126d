#include "cmd/study/training.h"

#include <cmath>
#include <filesystem>

#include "ckks/base/testing/runfile.h"
#include "doctest/doctest.h"
#include "train/data/recall_task.h"

namespace psm::cmd {
namespace {

const train::RecallTask kTask({3, 4, 2, 12});

StudyOptions fresh_options(const std::string& name) {
  const std::string folder = path_of(name);
  std::filesystem::remove_all(folder);
  return {.minutes = 1, .seeds = 1, .out = folder, .data = "", .text = ""};
}

attention::ModelWeights start(uint64_t seed = 1) {
  attention::ModelConfig config;
  config.vocab = kTask.vocab(), config.context = kTask.context();
  config.layers = 1, config.width = 16, config.heads = 2, config.ffn = 16,
  config.form = attention::PowerForm::kStable;
  return attention::random_weights(config, seed);
}

train::TrainerOptions options(size_t steps, double rate = 3e-3) {
  train::TrainerOptions options;
  options.batch = 8;
  options.rate = {rate, 1, steps, 1.0};
  return options;
}

TEST_CASE("a training has a curve, and trainings that differ in anything have files of their own") {
  const StudyOptions study = fresh_options("trainings");
  const Trained first = train_model(study, start(), kTask, options(32));
  CHECK(first.curve.size() == 16);
  CHECK(first.curve.back().step == 32);
  CHECK(first.seen == 32 * 8 * 12);
  train_model(study, start(1), kTask, options(4));
  train_model(study, start(2), kTask, options(4));
  train_model(study, start(1), kTask, options(4, 1e-3));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(study.out + "/state"))
    files += entry.path().extension() == ".training";
  CHECK(files == 4);
}

TEST_CASE("a divergence is a result, and is not tried again") {
  const StudyOptions study = fresh_options("diverged");
  const Trained wild = train_model(study, start(), kTask, options(8, 1e30));
  CHECK(wild.diverged.find("diverged at step") != std::string::npos);
  CHECK(wild.weights.layers.empty());
  const Trained again = train_model(study, start(), kTask, options(8, 1e30));
  CHECK(again.diverged == wild.diverged);
  const Trained good = train_model(study, start(), kTask, options(8));
  const Seeds both{wild, good};
  CHECK(final_text(both, bits_per_token).find("1 diverged") != std::string::npos);
  CHECK(final_text({wild}, bits_per_token) == "diverged");
  // A row that follows a diverged one has no curve, and no number of steps.
  CHECK(mean_curve({good, Trained{}}, bits_per_token, 0).empty());
  CHECK(mean_curve({Trained{}, good}, bits_per_token, 0).empty());
}

TEST_CASE("curves and final figures are means over the seeds, the latter with their interval") {
  const auto trained = [](double first, double last) {
    Trained trained;
    trained.steps = 2, trained.seen = 20;
    for (const auto& [step, bits] : {std::pair(1, first), std::pair(2, last)})
      trained.curve.push_back({static_cast<size_t>(step), {1, 0, bits * std::log(2.0)}});
    trained.final = trained.curve.back().held_out;
    return trained;
  };
  const Seeds seeds{trained(3, 1), trained(5, 2)};
  const PlotPoints curve = mean_curve(seeds, bits_per_token, 0.25);
  REQUIRE(curve.size() == 2);
  CHECK(curve[0].first == 10);
  CHECK(curve[0].second == doctest::Approx(4));
  CHECK(curve[1].second == doctest::Approx(1.5));
  Seeds longer = seeds;
  for (Trained& seed : longer) seed.steps = 8;
  CHECK(mean_curve(longer, bits_per_token, 0.25).size() == 1);
  CHECK(mean_curve(longer, bits_per_token, 0).size() == 2);
  CHECK(final_text(seeds, bits_per_token) == "1.500 +- 6.353");  // 12.706 * 0.707 / sqrt(2)
  const auto less = [](double own, double other) { return own - other; };
  const Seeds reference{trained(3, 1.25), trained(5, 2.25)};
  CHECK(paired_text(seeds, reference, bits_per_token, less, "%+.2f") == "-0.25 +- 0.00");
  CHECK(weight_seed(1) != weight_seed(2));
  CHECK(weight_seed(1) != data_seed(1));
}

TEST_CASE("the operations of a step are those counted by hand") {
  attention::ModelConfig model;
  model.vocab = 5, model.context = 3, model.layers = 2, model.width = 4, model.heads = 2, model.ffn = 7;
  // A token: four 4 x 4 products and two 4 x 7 a layer, 4 x 5 at the end; a sequence: 6 pairs, twice 4.
  CHECK(training_step_flops(model, 2) == 6 * (2 * 3 * (2 * (64 + 56) + 20) + 2 * 2 * (6 * 8)));
}

}  // namespace
}  // namespace psm::cmd
