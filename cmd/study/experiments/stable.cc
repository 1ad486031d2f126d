// Fig. stablityEmpirical: the stable variant against plain PowerSoftmax in a deep model.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 16, kWidth = 32;

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  struct Variant {
    const char* label;
    attention::AttentionKind attention;
    attention::PowerForm form;
  };
  const Variant variants[] = {
      {"softmax", attention::AttentionKind::kSoftmax, attention::PowerForm::kStable},
      {"stable", attention::AttentionKind::kPowerSoftmax, attention::PowerForm::kStable},
      {"not stable, epsilon", attention::AttentionKind::kPowerSoftmax, attention::PowerForm::kLipschitz},
      {"not stable, no epsilon", attention::AttentionKind::kPowerSoftmax, attention::PowerForm::kPlain},
  };
  const double flops =
      std::size(variants) * text.flops(text.model(attention::AttentionKind::kSoftmax, kLayers, kWidth));
  const size_t steps = context.steps(flops);
  SvgPanel panel;
  panel.title = message(kLayers, " layers of d = ", kWidth);
  panel.x_label = seen_label("characters");
  panel.y_label = "bits a character, held out";
  Table table({"attention", "bits a character", "what stopped it"});
  std::vector<double> final;
  for (const Variant& variant : variants) {
    attention::ModelConfig model = text.model(variant.attention, kLayers, kWidth);
    model.form = variant.form;
    const Trainings trainings = text.train(variant.label, model, steps);
    panel.line(variant.label, mean_curve(trainings, bits_per_token));
    table.row({variant.label, final_text(trainings, bits_per_token), trainings.first().diverged});
    final.push_back(mean_final(trainings, bits_per_token));
  }
  result.plot(panel);
  result.table(message("held-out text after ", steps, " steps of ", TextStudy::kBatch, " x ",
                       TextStudy::kContext, " characters"),
               table);
  Table gap({"share of the gap to softmax that the stable variant closes", "ours", "paper"});
  const auto share = [&](double plain) {
    return plain > final[0] ? percent((plain - final[1]) / (plain - final[0])) : std::string("-");
  };
  gap.row({"against the form with epsilon", share(final[2]), "a third"});
  gap.row({"against the form without", share(final[3]), "-"});
  result.table("the gap", gap);
}

}  // namespace

Experiment stable_experiment() {
  return {
      .name = "stable",
      .title = "The stable variant in a deep, narrow model",
      .scaled_down =
          "16 layers of d = 32 instead of 32 layers of 1,024, characters of novels instead of a tenth of "
          "WikiText-103. fp32 as in the paper's framework, where x^4 overflows later than in half precision. "
          "The paper does not say whether its plain form had epsilon: both are here.",
      .run = run};
}

}  // namespace psm::cmd
