// The recipe (Algorithm 1): trains on one data set to a model whose functions have small ranges.
//
//   1  softmax        the baseline, trained in the same way, unless stage 2 is softmax itself
//   2  power_softmax  the stable and Lipschitz form (eqs. stableeVariant, LipschitzPolyAttention): from
//                     random weights, or continual training (section "Continual Training"): softmax's
//                     weights with the attention replaced, trained on for a short time
//   3  ranges         the same weights trained on in exactly the form that runs encrypted
//                     (length-agnostic, no c, inference_epsilon added to the mean), with the range losses;
//                     denominators that then span more than `largest_ratio` are scaled down to it
//
// It begins with random weights, or with a trained model. A softmax model enters at stage 2, one of another attention
// at stage 3, or with `trains_on` at stage 2; if that model has been through stage 3 before, its scores are not scaled
// again. With another attention than PowerSoftmax the same stages run, named after that attention, without
// PowerSoftmax's forms. Then the ranges are measured. Step 3 of the algorithm, the polynomials, follows from weights
// and ranges (attention/reference/polynomial_model.h).
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attention/trained/measure.h"
#include "train/data/recall_task.h"
#include "train/stages/loop.h"

namespace psm::train {

// The default p for texts and classifiers, with the score offset c = p, which the paper does not have: (s +
// p)^p is p^p (1 + s/p)^p, near e^s, and tells s from -s. Perplexities are then within 1% of softmax's at 2
// to 8 layers. The paper's form with p = 4 is 4 to 6% worse (attention/PAPER.md).
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
  // With model.score_offset: c of every head, not trained, but scaled with the scores before stage 3. Without
  // a value c is learned, beginning with p or with the continued model's c.
  std::optional<double> constant_score_offset = {};
  // The factor of fresh tables of tokens, positions, types and the class token (random_weights: deviation 1).
  // BERT and ViT begin with 0.02. From 1, a thousand steps of AdamW change a word's vector only little.
  double table_scale = 1;
  double mean_denominator = 1;  // stage 3 begins with it (score_scale.h); 0: with the scores as they are
  double largest_ratio = 1e3;   // of the denominators after stage 3, max/min on training data; 0: none
  bool trains_on = false;       // a trained model of the wanted attention enters at stage 2
  bool ranges_in_training_form = false;  // stage 3 trains stage 2's form, and c is left out after it
  size_t evaluate_every = 25;
  std::string state_folder;  // running trainings are saved there and resumed; empty: nowhere
  // LoopOptions::started of each stage.
  std::function<void(const std::string& stage, size_t steps, size_t resumed_at)> started = {};
  // Called after each stage. May be empty.
  std::function<void(const StageReport&)> report = {};

  // The number of training examples for measuring ranges: 2048, whose forward pass takes less time than stage
  // 3. After a short stage 3, as many as stage 3 reads, at least 512.
  int range_sequences() const {
    const size_t read = range_steps * static_cast<size_t>(range_training.batch);
    return static_cast<int>(std::clamp<size_t>(read, 512, 2048));
  }
};

// Tested settings: at least 95% recall.
RecipeOptions recall_recipe(const RecallTask& task, uint64_t seed);
// For a model of the text's tokens: `steps` for each of stages 1 and 2, half as many for stage 3.
RecipeOptions text_recipe(const DataSource& data, size_t steps, uint64_t seed);
// For a small encoder of the source's family, RoBERTa's or ViT's; steps as for a text.
RecipeOptions classifier_recipe(const DataSource& data, size_t steps, uint64_t seed);
// Random weights with tables scaled by `table_scale`. A model of two texts (config.separator) begins able to
// match their words: W_k = W_q (after Trockman and Kolter, arXiv 2305.09828), so that a token's score is
// largest with the same token. Its positions and types are scaled by kPlaceTables too, so that words decide.
inline constexpr double kPlaceTables = 0.3;
attention::ModelWeights fresh_weights(const attention::ModelConfig& config, uint64_t seed,
                                      double table_scale);
// The factor of an encoder's fresh tables.
inline constexpr double kEncoderTables = 0.1;
// The factor of the learning rates. Post-norm models need lower ones the larger they are (Xiong et al., arXiv
// 2002.04745): min(1, 256 / (layers * width)). All others take the recipe's.
double rate_factor(const attention::ModelConfig&);
// The file of a stage's training in a state folder.
std::string state_file(const std::string& folder, const std::string& stage);
// Sets the lengths of the stages and of their learning rates' schedules.
void set_steps(RecipeOptions& options, size_t steps, size_t range_steps);

// The paper as printed: p = 4, epsilon of Pythia-70M (tab. pythia_params) everywhere, no score offset, only
// eq. PWRoss and the same peaks for GELU's inputs as losses, the stable form to the end of training, and no
// scale for the scores.
void follow_paper(RecipeOptions& options);

// The same weights with another attention in its training form, the start of continual training (stage 2).
// With `score_offset` each head has p.
attention::ModelWeights with_attention(attention::ModelWeights weights, attention::AttentionKind attention,
                                       int power, double epsilon, bool score_offset = false);

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

// Throws psm::Error if the model's attention is neither softmax nor the wanted one.
void require_continuable(const attention::ModelConfig& start, const attention::ModelConfig& wanted);
// From random weights, or from a trained model, whose shape replaces that of options.model. Throws psm::Error like
// run_training.
TrainedModels run_recipe(const RecipeOptions& options, const DataSource& source,
                         const attention::ModelWeights* start = nullptr);

// Measures the ranges of a model on this many training examples, the same at each call. Held-out examples are
// not used, because they test the intervals.
attention::Ranges measure_ranges(const attention::ModelWeights& weights, const DataSource& source,
                                 int sequences);

}  // namespace psm::train
