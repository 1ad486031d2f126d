// Section "Continual Training": a softmax checkpoint whose attention is replaced and trained on for a short
// time.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

constexpr int kSequences = 512;

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const size_t steps = std::max<size_t>(4, text.family_steps() / 4);
  const Trainings softmax = text.softmax();
  const train::Batch held_out = text.data().validation(context.examples(kSequences));
  const Trainings replaced =
      follow_seeds(context, "right after the replacement", softmax, [&](const Trained& start, uint64_t) {
        Trained trained;
        trained.weights = TextStudy::with_power_softmax(start.weights);
        trained.final = train::evaluate(trained.weights, held_out);
        return trained;
      });
  const Trainings tuned = follow_seeds(
      context, "PowerSoftmax from softmax's weights", softmax, [&](const Trained& start, uint64_t seed) {
        return text.train(message("continual-s", seed), TextStudy::with_power_softmax(start.weights),
                          text.training(steps, seed));
      });
  const Trainings longer =
      follow_seeds(context, "softmax trained on alike", softmax, [&](const Trained& start, uint64_t seed) {
        return text.train(message("continual-softmax-s", seed), start.weights, text.training(steps, seed));
      });
  const Trainings scratch = text.power(4);

  SvgPanel panel = TextStudy::curves("after the replacement", "characters seen after it");
  for (const Trainings* trainings : {&tuned, &longer})
    panel.line(trainings->label, mean_curve(*trainings, bits_per_token, /*from=*/0));
  panel.level("softmax before", mean_final(softmax, bits_per_token));
  result.plot(panel);

  Table table({"model", "steps", "bits a character"});
  const std::string before = std::to_string(softmax.first().steps),
                    more = before + " + " + std::to_string(steps);
  table.row({"softmax", before, final_text(softmax, bits_per_token)});
  table.row({replaced.label, before + " + 0", final_text(replaced, bits_per_token)});
  table.row({tuned.label, more, final_text(tuned, bits_per_token)});
  table.row({longer.label, more, final_text(longer, bits_per_token)});
  table.row({"PowerSoftmax from scratch", before, final_text(scratch, bits_per_token)});
  result.table("held-out text", table);
  result.note(
      "The paper's GPT 1.4B goes on for 100 iterations after the replacement, RoBERTa for 1,250, of "
      "pre-trainings of 143,000 "
      "and 500,000; it gives no loss right after the replacement.");
}

}  // namespace

Experiment continual_experiment() {
  return {
      .name = "continual",
      .title = "Continual training from a softmax checkpoint",
      .scaled_down =
          "The softmax model of `power` (4 layers of d = 64) instead of Pythia 1.4B; it is itself only "
          "minutes "
          "old, so going on improves softmax too, and the last but one row of the table says by how much.",
      .run = run};
}

}  // namespace psm::cmd
