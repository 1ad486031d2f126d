// Trainings of a study: saved and resumed in its folder, with the curve of what held-out examples said, and
// repeated over seeds.
//
// A training's files are named after a checksum of everything that decides it (describe_training). So two
// experiments that ask for the same training share it, and one that differs in anything is another.
#pragma once

#include <string>
#include <vector>

#include "cmd/study/experiments/options.h"
#include "cmd/terminal/svg_plot.h"
#include "train/stages/loop.h"

namespace psm::cmd {

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

// Trains `initial` for options.rate.total steps, or takes up what is saved. A divergence is a result;
// everything else that stops a training is thrown as run_training does.
Trained train_model(const StudyOptions& study, const attention::ModelWeights& initial,
                    const train::DataSource& source, const train::TrainerOptions& options);

// The examples on which trained models are scored.
train::Batch final_examples(const StudyOptions& study, const train::DataSource& source);

// What is plotted and tabulated of an evaluation.
using Metric = double (*)(const train::Evaluation&);
double bits_per_token(const train::Evaluation& evaluation);
double perplexity(const train::Evaluation& evaluation);
double percent_correct(const train::Evaluation& evaluation);

// The same training with seeds 1 .. K.
using Seeds = std::vector<Trained>;

// Mean over the seeds against what was seen, up to the step that all seeds reached; from a share of the
// training on, because all models that start from random weights are alike in the beginning.
PlotPoints mean_curve(const Seeds& seeds, Metric metric, double from);
// "2.345", of several values "2.345 +- 0.012": the mean, and half of its 95% interval (Student's t).
// "diverged" without any.
std::string interval_text(const std::vector<double>& values, const char* pattern);
// interval_text over the seeds that did not diverge, and how many did.
std::string final_text(const Seeds& seeds, Metric metric);
// interval_text of compare(metric, metric of `reference` with the same seed), where neither diverged.
std::string paired_text(const Seeds& seeds, const Seeds& reference, Metric metric,
                        double (*compare)(double own, double other), const char* pattern);

// A seed's streams of initial weights and of training data.
uint64_t weight_seed(uint64_t seed);
uint64_t data_seed(uint64_t seed);

}  // namespace psm::cmd
