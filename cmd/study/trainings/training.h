// Trainings within a study: saved and resumed in its folder, with the curve of what held-out examples said,
// and repeated over seeds.
//
// A training's files are named after it and a checksum of everything that decides it (describe_training), so
// two experiments that ask for the same training share it, and one that differs in anything is another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cmd/study/report/context.h"
#include "cmd/terminal/svg_plot.h"
#include "train/stages/loop.h"

namespace psm::cmd {

// Windows of a text that a training's last weights are scored on; fewer in runs of less than a minute.
inline constexpr int kFinalSequences = 512;

struct CurvePoint {
  size_t step = 0;
  train::Evaluation held_out;
};

struct Trained {
  std::vector<CurvePoint> curve;
  train::Evaluation final;  // the last weights on more held-out examples than the curve's
  std::string diverged;     // why there are no last weights; empty if there are
  attention::ModelWeights weights;
  size_t steps = 0, seen = 0;  // asked for; seen: tokens, or examples of a classifier
};

// Trains `initial`, or takes up what is saved. A divergence is a result; everything else that stops a
// training is thrown as run_training does.
Trained train(const StudyContext& context, const std::string& name, const attention::ModelWeights& initial,
              const train::DataSource& source, const train::TrainerOptions& options, size_t steps);

// The form that runs encrypted, with the recipe's epsilon; its scores scaled on examples of the source
// (train/stages/score_scale.h), or not.
attention::ModelWeights inference_form(attention::ModelWeights weights, const train::DataSource& source,
                                       bool scaled = true);

// An evaluation as JSON and back; a cross entropy beyond all numbers is null. Reading throws psm::Error that
// begins with `what`.
Json evaluation_json(const train::Evaluation& evaluation);
train::Evaluation evaluation_from(const Json& json, const std::string& what);

// The same training with seeds 1 .. K.
struct Trainings {
  std::string label;  // in legends and tables
  std::vector<Trained> seeds;

  const Trained& first() const { return seeds.front(); }
};

// An attention that experiments compare with others, as their labels call it.
struct ComparedAttention {
  std::string label;
  attention::AttentionKind kind;
  int power = 4;
  bool offset = false;  // c = p, as it stays

  // The model with this attention, in its training form.
  attention::ModelConfig in(attention::ModelConfig model) const;
};

// Softmax, PowerSoftmax as the paper prints it and scaled ReLU; and the PowerSoftmax of the default recipe,
// which has a score offset.
std::vector<ComparedAttention> compared_attentions(int paper_power = 4);

Trainings train_seeds(const StudyContext& context, const std::string& label,
                      const std::function<Trained(uint64_t seed)>& train_one);

// What next(model, seed) makes of each seed's model; of one that diverged nothing is made.
Trainings follow_seeds(const StudyContext& context, const std::string& label, const Trainings& from,
                       const std::function<Trained(const Trained& start, uint64_t seed)>& next);

// What is plotted and tabulated of an evaluation.
double bits_per_token(const train::Evaluation& evaluation);
double perplexity(const train::Evaluation& evaluation);
double percent_correct(const train::Evaluation& evaluation);
using Metric = double (*)(const train::Evaluation&);

// Mean over the seeds against what was seen, up to the step that all seeds reached. From a share of the
// training on: in the beginning all models that start from random weights are alike, and far from where they
// end.
PlotPoints mean_curve(const Trainings& trainings, Metric metric, double from = 0.25);
// "UNIT seen, from a quarter of the training on": the horizontal axis of such a curve.
std::string seen_label(const std::string& unit);
// Mean over the seeds that did not diverge; NaN if all did.
double mean_final(const Trainings& trainings, Metric metric);
// "2.345", with several seeds "2.345 +- 0.012" (standard deviation), and how many diverged.
std::string final_text(const Trainings& trainings, Metric metric);
// "1.023", of several values "1.023 +- 0.004": the mean and half of its 95% interval (Student's t);
// "diverged" without any.
std::string interval_text(const std::vector<double>& values, const char* mean_format);
// The metric's ratio to that of `reference` with the same seed, over the seeds of which neither diverged:
// as interval_text.
std::string paired_ratio_text(const Trainings& trainings, const Trainings& reference, Metric metric);
// The same of its difference: "-0.40 +- 0.31".
std::string paired_difference_text(const Trainings& trainings, const Trainings& reference, Metric metric);

// A seed's streams of initial weights and of training data.
uint64_t weight_seed(uint64_t seed);
uint64_t data_seed(uint64_t seed);

}  // namespace psm::cmd
