// Fig. ablateP: the power p in training.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  SvgPanel stable, unstable;
  stable.title = "the stable form";
  unstable.title = "without division by the row's maximum";
  stable.x_label = unstable.x_label = seen_label("characters");
  stable.y_label = unstable.y_label = "bits a character, held out";
  const Trainings softmax = text.softmax();
  stable.line(softmax.label, mean_curve(softmax, bits_per_token));
  Table table({"p", "stable", "not stable", "paper"});
  table.row({"softmax", final_text(softmax, bits_per_token), "", ""});
  for (const int p : TextStudy::kPowers) {
    const Trainings trainings = text.power(p);
    stable.line(trainings.label, mean_curve(trainings, bits_per_token));
    std::string without = "-";
    if (std::find(std::begin(TextStudy::kUnstablePowers), std::end(TextStudy::kUnstablePowers), p) !=
        std::end(TextStudy::kUnstablePowers)) {
      const Trainings plain = text.unstable_power(p);
      unstable.line(plain.label, mean_curve(plain, bits_per_token));
      unstable.line(trainings.label, mean_curve(trainings, bits_per_token));
      without = final_text(plain, bits_per_token);
    }
    table.row({std::to_string(p), final_text(trainings, bits_per_token), without,
               p < 4    ? "sub-optimal"
               : p <= 8 ? "best"
                        : "oscillates, unless stable; no better"});
  }
  result.plot(stable);
  result.plot(unstable);
  result.table(message("bits a character on held-out text after ", softmax.first().steps, " steps of ",
                       TextStudy::kBatch, " x ", TextStudy::kContext, " characters, 4 layers of d = 64"),
               table);
}

}  // namespace

Experiment power_experiment() {
  return {
      .name = "power",
      .title = "The power p in training",
      .scaled_down =
          "4 layers of d = 64 on characters of novels instead of WikiText-103; the paper's figure gives "
          "curves "
          "without numbers. The same models are looked into by attention-distance and attention-matrices.",
      .run = run};
}

}  // namespace psm::cmd
