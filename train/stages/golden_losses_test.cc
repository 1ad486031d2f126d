// Ten steps of a small training against losses that were written down: what a change of the engine must not
// move.
//
// Written down from this very test with PSM_SIMD=scalar; that forward and backward are right is what
// attention/trained/model_gradient_test.cc checks. Instruction sets round differently, which within ten steps
// moves a loss by far less than the tolerance (by 1e-7 between scalar, AVX2 and AVX-512).
#include "doctest/doctest.h"
#include "train/data/recall_task.h"
#include "train/stages/trainer.h"

namespace psm::train {
namespace {

constexpr double kTolerance = 1e-5;

std::vector<double> ten_losses(attention::AttentionKind kind, attention::PowerForm form) {
  const RecallTask task({3, 4, 2, 12});
  attention::ModelConfig config;
  config.vocab = task.vocab(), config.context = task.context();
  config.layers = 2, config.width = 32, config.heads = 2, config.ffn = 64;
  config.rotary_fraction = 0.5, config.rotary_base = 20;
  config.attention = kind, config.form = form;
  TrainerOptions options;
  options.batch = 16;
  options.rate = {3e-3, 2, 100, 0.05};
  options.seed = 7;
  Trainer trainer(attention::random_weights(config, 7), task, options);
  std::vector<double> losses;
  for (int step = 0; step < 10; ++step) losses.push_back(trainer.step().cross_entropy);
  return losses;
}

void compare(const std::vector<double>& losses, const std::vector<double>& golden) {
  REQUIRE(losses.size() == golden.size());
  for (size_t i = 0; i < golden.size(); ++i) {
    CAPTURE(i);
    CHECK(losses[i] == doctest::Approx(golden[i]).epsilon(kTolerance));
  }
}

TEST_CASE("ten steps with softmax give the losses that were written down") {
  compare(ten_losses(attention::AttentionKind::kSoftmax, attention::PowerForm::kStable),
          {2.5591695, 2.3611689, 1.8959772, 1.4469590, 1.6266138, 1.4752198, 1.6280549, 1.2027769, 1.2517629,
           1.1128463});
}

TEST_CASE("ten steps with stable PowerSoftmax give the losses that were written down") {
  compare(ten_losses(attention::AttentionKind::kPowerSoftmax, attention::PowerForm::kStable),
          {2.5151176, 2.4217094, 2.0822651, 1.5495938, 1.5326746, 1.5204195, 1.5475167, 1.2111250, 1.1665609,
           1.0893153});
}

TEST_CASE("ten steps with length-agnostic PowerSoftmax give the losses that were written down") {
  compare(ten_losses(attention::AttentionKind::kPowerSoftmax, attention::PowerForm::kLengthAgnostic),
          {2.5151067, 2.4216312, 2.0821950, 1.5495761, 1.5328082, 1.5203977, 1.5473151, 1.2117901, 1.1667862,
           1.0889939});
}

}  // namespace
}  // namespace psm::train
