// On how many entries small classifiers attend, at the start and after training, by power and score offset.
#include "cmd/study/trainings/effective_entries.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/classifier_study.h"
#include "cmd/study/trainings/image_study.h"
#include "cmd/terminal/table.h"
#include "cmd/timing/train_suite.h"

namespace psm::cmd {
namespace {

constexpr int kPowers[] = {2, 4, 6};
constexpr int kExamples = 200;

void run(StudyContext& context, StudyResult& result) {
  const train::ImageData images = study_images(context);
  const ClassifierPlan plan{.name = "entries", .source = images, .model = study_vit(images)};
  std::vector<ComparedAttention> compared = {compared_attentions().front()};
  for (const bool offset : {false, true})
    for (const int power : kPowers)
      compared.push_back({message("p = ", power, offset ? message(", c = ", power) : std::string()),
                          attention::AttentionKind::kPowerSoftmax, power, offset});
  const size_t steps =
      context.steps(static_cast<double>(compared.size()) * training_step_flops(plan.model, plan.batch));
  const train::Batch examples = images.validation(context.examples(kExamples));
  // Mean over the seeds.
  const auto entries_text = [&](const std::function<attention::ModelWeights(uint64_t seed)>& weights) {
    double sum = 0;
    for (int seed = 1; seed <= context.options().seeds; ++seed)
      sum += effective_entries(weights(static_cast<uint64_t>(seed)), examples);
    return format("%.3f", sum / context.options().seeds);
  };
  Table table({"attention", "entries at the start, of L", "after training", "% right", "to softmax, points"});
  Trainings softmax;
  for (const ComparedAttention& attention : compared) {
    const Trainings trainings = train_classifier(context, plan, attention, steps);
    if (softmax.seeds.empty()) softmax = trainings;
    const bool diverged = std::any_of(trainings.seeds.begin(), trainings.seeds.end(),
                                      [](const Trained& seed) { return !seed.diverged.empty(); });
    table.row({attention.label,
               entries_text([&](uint64_t seed) { return fresh_classifier(attention.in(plan.model), seed); }),
               diverged ? "diverged"
                        : entries_text([&](uint64_t seed) { return trainings.seeds[seed - 1].weights; }),
               final_text(trainings, percent_correct),
               paired_difference_text(trainings, softmax, percent_correct)});
  }
  result.table(message("a ViT on MNIST, rows of L = ", images.context(), " entries, ", steps, " steps of ",
                       plan.batch, "; 1 / (L times the sum of squared weights)"),
               table);
}

}  // namespace

Experiment effective_entries_experiment() {
  return {.name = "effective-entries",
          .title = "On how many entries a classifier attends, by power and score offset",
          .scaled_down = "Not in the paper; the ViT of `vision` on MNIST.",
          .run = run};
}

}  // namespace psm::cmd
