// Trainings of a study. They are saved and resumed in its folder, repeated over seeds, and keep a curve of
// the evaluations on held-out examples.
//
// A training's files are named after a checksum of everything that decides it (describe_training). So two
// experiments with the same training share it, and any difference makes another training.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attention/shape/config.h"
#include "cmd/terminal/svg_plot.h"
#include "train/stages/loop.h"

namespace psm::cmd {

// The options of every experiment of //cmd:study.
//
// --minutes becomes steps through a nominal speed, never through a clock. So the same options give the same figures on
// every machine; a slower one takes longer.
struct StudyOptions {
  double minutes = 5;  // of an experiment, at the nominal speed
  int seeds = 1;       // trainings are repeated with seeds 1 .. seeds, which share the minutes
  std::string out;     // folder of results; running trainings are saved in its folder "state"
  std::string data;    // folder laid out as ../shared/data
  std::string text;    // what language models read; empty: the novels of `data`

  // The steps of each training, if one step of all trainings takes `flops` operations with one seed; at least 4.
  size_t steps(double flops) const;
  // Examples to measure on: `wanted`, and proportionally fewer in runs of less than a minute; at least 4.
  int examples(int wanted) const;
  // The path of a file of the data folder; throws psm::Error if there is none.
  std::string data_file(const std::string& name) const;
};

// The floating-point operations of a training step's matrix products, two for each entry and inner index: in each layer
// W_q, W_k, W_v, W_o, W_up and W_down on every token, and q k' and w v on the pairs of tokens that the causal mask
// leaves; and the unembedding. All count three times: a product's backward pass is two products of its size.
double training_step_flops(const attention::ModelConfig& model, int batch);

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

// Trains `initial` for options.rate.total steps, or resumes a saved training. A divergence is a result; other
// errors are thrown like in run_training.
Trained train_model(const StudyOptions& study, const attention::ModelWeights& initial,
                    const train::DataSource& source, const train::TrainerOptions& options);

// The examples on which trained models are scored.
train::Batch final_examples(const StudyOptions& study, const train::DataSource& source);

// The figure of an evaluation that is plotted and tabulated.
using Metric = double (*)(const train::Evaluation&);
double bits_per_token(const train::Evaluation& evaluation);
double perplexity(const train::Evaluation& evaluation);
double percent_correct(const train::Evaluation& evaluation);

// The same training with seeds 1 .. K.
using Seeds = std::vector<Trained>;

// The mean over the seeds by tokens or examples seen, up to the step that all seeds reached. It begins after
// a share `from` of the training, because all models from random weights are alike in the beginning.
PlotPoints mean_curve(const Seeds& seeds, Metric metric, double from);
// "2.345", of several values "2.345 +- 0.012": the mean, and half of its 95% interval (Student's t).
// "diverged" without any.
std::string interval_text(const std::vector<double>& values, const char* pattern);
// interval_text over the seeds that did not diverge, and how many did.
std::string final_text(const Seeds& seeds, Metric metric);
// interval_text of compare(metric, metric of `reference` with the same seed), for seeds where neither diverged.
std::string paired_text(const Seeds& seeds, const Seeds& reference, Metric metric,
                        double (*compare)(double own, double other), const char* pattern);

// The random streams of a seed's initial weights and training data.
uint64_t weight_seed(uint64_t seed);
uint64_t data_seed(uint64_t seed);

}  // namespace psm::cmd
