// The character models of the study: GPT-NeoX blocks on seven novels or another text, and the ones that
// several experiments share.
#pragma once

#include <string>

#include "cmd/study/trainings/training.h"
#include "train/data/text_data.h"
#include "train/stages/range_losses.h"

namespace psm::cmd {

class TextStudy {
 public:
  static constexpr int kContext = 128, kBatch = 8;

  // Reads the texts (StudyContext::training_text); throws psm::Error if they are missing.
  explicit TextStudy(const StudyContext& context);

  const train::TextData& data() const { return data_; }

  // Heads of 16 dimensions, a feed-forward part of 4 d, PowerSoftmax as the paper has it: p = 4, no score
  // offset, in its training form with epsilon 1e-3.
  attention::ModelConfig model(attention::AttentionKind attention, int layers, int width) const;
  // Settings of text_recipe (train/stages/recipe.h) for so many steps from random weights. But for the batch, and for a
  // warm-up of at most a tenth of the steps: the recipe's would take a short training to its end before it
  // reached its rate. Score offsets stay as they are.
  train::TrainerOptions training(size_t steps, uint64_t seed) const;
  // Trains for options.rate.total steps.
  Trained train(const std::string& name, const attention::ModelWeights& initial,
                const train::TrainerOptions& options) const;
  // For file names: "power_softmax-p4-stable-e0.001-l4-d64".
  static std::string name_of(const attention::ModelConfig& model);

  // From random weights, with each seed; score offsets begin with p.
  Trainings train(const std::string& label, const attention::ModelConfig& model, size_t steps) const;
  // Floating-point operations of one step.
  double flops(const attention::ModelConfig& model) const;

  // The family of the experiment `power`, from which others start: 4 layers, d = 64, softmax and every p of
  // kPowers, all with the same steps for the same minutes.
  static constexpr int kFamilyLayers = 4, kFamilyWidth = 64;
  static constexpr int kPowers[] = {2, 4, 6, 8, 12};
  static constexpr int kUnstablePowers[] = {8, 12};
  size_t family_steps() const;
  Trainings softmax() const;
  // kLipschitz: without division by the row's maximum (eq. LipschitzPolyAttention).
  Trainings power(int p, attention::PowerForm form = attention::PowerForm::kStable) const;

  // From a trained model, for `steps`, in the form that runs encrypted and with range losses (Algorithm 1,
  // step 2). Settings of text_recipe.
  Trained minimise_ranges(const std::string& name, attention::ModelWeights weights,
                          const train::RangeLosses& losses, size_t steps, uint64_t seed) const;
  // The attention replaced by PowerSoftmax, p = 4 (section Continual Training).
  static attention::ModelWeights with_power_softmax(attention::ModelWeights weights);
  // psm::inference_form on the text.
  attention::ModelWeights inference_form(attention::ModelWeights weights, bool scaled = true) const;
  size_t range_steps() const;

  // A panel of held-out bits a character by what was seen: for mean_curve.
  static SvgPanel curves(const std::string& title, const std::string& x_label = seen_label("characters"));
  // "held-out text after 900 steps of 8 x 128 characters, 4 layers of d = 64 with heads of 16".
  static std::string after(size_t steps, const attention::ModelConfig& model);

 private:
  const StudyContext& context_;
  train::TextData data_;
};

}  // namespace psm::cmd
