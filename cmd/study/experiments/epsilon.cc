// Fig. epsilonTraining: epsilon of the Lipschitz division in training.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 4, kWidth = 64;
constexpr double kEpsilons[] = {1e-4, 1e-3, 1e-2, 1e-1, 1};

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  attention::ModelConfig model = text.model(attention::AttentionKind::kPowerSoftmax, kLayers, kWidth);
  const size_t steps = context.steps(std::size(kEpsilons) * text.flops(model));
  SvgPanel panel;
  panel.title = "epsilon, added after division by the row's maximum";
  panel.x_label = seen_label("characters");
  panel.y_label = "bits a character, held out";
  Table table({"epsilon", "bits a character", "paper"});
  for (const double epsilon : kEpsilons) {
    model.epsilon = epsilon;
    const std::string label = format("epsilon = %g", epsilon);
    const Trainings trainings = text.train(label, model, steps);
    panel.line(label, mean_curve(trainings, bits_per_token));
    table.row({format("%g", epsilon), final_text(trainings, bits_per_token),
               epsilon < 1 ? "robust; larger is better for the division" : "-"});
  }
  result.plot(panel);
  result.table(message("held-out text after ", steps, " steps of ", TextStudy::kBatch, " x ",
                       TextStudy::kContext, " characters, 4 layers of d = 64, p = 4"),
               table);
}

}  // namespace

Experiment epsilon_experiment() {
  return {.name = "epsilon",
          .title = "Epsilon in training",
          .scaled_down =
              "4 layers of d = 64 on characters of novels; the paper's figure gives curves without numbers.",
          .run = run};
}

}  // namespace psm::cmd
