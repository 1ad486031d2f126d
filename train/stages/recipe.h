// The recipe (Algorithm 1) for one data set, to a model whose functions have small ranges:
//
//   1  softmax        the baseline, trained alike, unless stage 2 is softmax itself
//   2  power_softmax  the stable and Lipschitz form (eqs. stableeVariant, LipschitzPolyAttention): from
//                     random weights, or continual training (section "Continual Training"): softmax's
//                     weights with the attention replaced, trained on for a short time
//   3  ranges         the same weights trained on in exactly the form that runs encrypted
//                     (length-agnostic, no c, inference_epsilon added to the mean), with the range losses;
//                     denominators that span more than `largest_ratio` after it are brought to that
//
// It begins with random weights (run_recipe), or with a trained model (continue_recipe): a softmax model
// enters at stage 2, one of another attention at stage 3, with the scores as they are if it has been through
// it. With another attention than PowerSoftmax in stage 2 the same stages run, named after it, without its
// forms. Then the ranges are measured. Step 3 of the algorithm, the polynomials, follows from weights and
// ranges (attention/reference/polynomial_model.h).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attention/batched/measure.h"
#include "train/data/recall_task.h"
#include "train/stages/loop.h"

namespace psm::train {

// p of texts and classifiers unless asked otherwise, with the score offset c = p, which the paper does not
// have: (s + p)^p is p^p (1 + s/p)^p, near e^s, and tells s from -s. So perplexities are softmax's within 1%
// at 2 to 8 layers, those of the paper's form with p = 4 are 4 to 6% behind (attention/PAPER.md).
inline constexpr int kPower = 6;

struct RecipeOptions {
  attention::ModelConfig
      model;  // with the attention of stages 2 and 3; form and epsilon are set stage by stage
  uint64_t seed = 1;
  TrainerOptions training;         // stages 1 and 2
  size_t steps = 1500;             // at most, each of stages 1 and 2
  double stop_accuracy = 0.99;     // on held-out examples, above 1: never
  double training_epsilon = 1e-3;  // stage 2, after division by c
  TrainerOptions range_training;   // stage 3
  size_t range_steps = 400;
  double inference_epsilon = 0.2;  // stage 3 and inference
  // With model.score_offset: c of every head, not trained (but scaled with the scores before stage 3); none:
  // it begins with p and is learned, or as the model has it that is continued.
  std::optional<double> constant_score_offset = {};
  // What fresh tables of tokens, positions and the class token are multiplied by (random_weights: deviation
  // 1). BERT and ViT begin with 0.02; from 1, a thousand steps of AdamW leave most of a word's vector as it
  // was drawn.
  double table_scale = 1;
  double mean_denominator = 1;  // stage 3 begins with it (score_scale.h); 0: with the scores as they are
  double largest_ratio = 1e3;   // of the denominators after stage 3, max/min on training data; 0: none
  bool ranges_in_training_form = false;  // stage 3 trains stage 2's form, and c is left out after it
  size_t evaluate_every = 25;
  int validation_sequences = 128;
  std::string state_folder;  // running trainings are saved there and resumed; empty: nowhere
  // Told before each training: its stage, its steps at most, and the step at which a saved state was taken up
  // (0: none was). May be empty.
  std::function<void(const std::string& stage, size_t steps, size_t resumed_at)> started = {};

  // Training examples on which ranges are measured: 2048, which a forward pass reads in less time than stage 3
  // takes; after a short stage 3 as many as it reads, at least 512.
  int range_sequences() const {
    const size_t read = range_steps * static_cast<size_t>(range_training.batch);
    return static_cast<int>(std::clamp<size_t>(read, 512, 2048));
  }
};

// Measured settings: 95% recall in well under a minute on two cores.
RecipeOptions recall_recipe(const RecallTask& task, uint64_t seed);
// A model of the text's tokens; `steps` for each of stages 1 and 2 is the budget, half of it for stage 3.
RecipeOptions text_recipe(const DataSource& data, size_t steps, uint64_t seed);
// A small encoder of the source's family, RoBERTa's or ViT's; steps as of a text.
RecipeOptions classifier_recipe(const DataSource& data, size_t steps, uint64_t seed);
// Random weights of the recipe's model, whose tables are scaled by options.table_scale.
attention::ModelWeights fresh_weights(const attention::ModelConfig& config, uint64_t seed,
                                      double table_scale);
// Where a stage's training is saved in a state folder.
std::string state_file(const std::string& folder, const std::string& stage);
// Sets the lengths of the stages, and the learning rates' schedules with them.
void set_steps(RecipeOptions& options, size_t steps, size_t range_steps);

// The paper as printed: p = 4, epsilon of Pythia-70M (tab. pythia_params) everywhere, no score offset, eq.
// PWRoss and the same peaks of GELU's inputs alone, the stable form to the end of training and no scale for
// the scores.
void follow_paper(RecipeOptions& options);

// For stage 2 by continual training: a quarter of the steps. The learning rate stays: on the novels
// (attention/PAPER.md) 300 steps from softmax's perplexity of 3.74 end at 4.07, 4.00, 4.05 and 4.12 with a
// third, all, twice and 3.3 times of it.
void make_continual(RecipeOptions& options);

// The same weights with another attention in its training form (stage 2), as continual training begins.
// With `score_offset` each head has p.
attention::ModelWeights with_attention(attention::ModelWeights weights, attention::AttentionKind attention,
                                       int power, double epsilon, bool score_offset = false);

struct StageReport {
  std::string name;
  Evaluation validation;
  size_t steps = 0;   // none: a model that was only evaluated
  size_t tokens = 0;  // seen in these steps
  double seconds = 0, tokens_per_second = 0;
};

struct TrainedModels {
  attention::ModelWeights softmax;  // no layers if there was no baseline
  attention::ModelWeights
      replaced;  // softmax's weights with the other attention, untrained; continual training only
  attention::ModelWeights trained;  // after stage 2; PowerSoftmax in form kStable
  attention::ModelWeights
      final_model;                  // after stage 3, form kLengthAgnostic: the one that is made polynomial
  attention::Ranges ranges_before;  // of `trained` in the inference form, before stage 3
  attention::Ranges ranges;         // of final_model, as measured
  std::vector<StageReport> stages;
};

// `report` is called after each stage; may be empty. Throws psm::Error as run_training does.
TrainedModels run_recipe(const RecipeOptions& options, const DataSource& source,
                         const std::function<void(const StageReport&)>& report = {});
// Throws psm::Error if the model's attention is neither softmax nor the wanted one.
void require_continuable(const attention::ModelConfig& start, const attention::ModelConfig& wanted);
// The same from a trained model, whose shape takes the place of options.model's.
TrainedModels continue_recipe(const attention::ModelWeights& start, const RecipeOptions& options,
                              const DataSource& source,
                              const std::function<void(const StageReport&)>& report = {});

// Measures the ranges of a model on so many training examples, the same at each call: the held-out ones are
// left to say whether the intervals hold.
attention::Ranges measure_ranges(const attention::ModelWeights& weights, const DataSource& source,
                                 int sequences);

}  // namespace psm::train
