// Character models that differ in one thing, trained alike: its value against the bits a character on held-out
// text. The power p (fig. ablateP), the stable form in a deep model (fig. stablityEmpirical), and epsilon (fig.
// epsilonTraining).
#include <span>

#include "ckks/base/error.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

using attention::AttentionKind;
using attention::PowerForm;

// One row of a sweep's table.
struct Variant {
  std::string label;
  Trainings trainings;
  std::vector<std::string> more = {};  // cells behind the bits a character
};

// A plot of all curves, and a table of the variants.
void report(StudyResult& result, const std::string& plot, const std::string& title,
            const std::vector<std::string>& more_columns, std::span<const Variant> variants) {
  SvgPanel panel = TextStudy::curves(plot);
  std::vector<std::string> columns = {"model", "bits a character"};
  columns.insert(columns.end(), more_columns.begin(), more_columns.end());
  Table table(columns);
  for (const Variant& variant : variants) {
    panel.line(variant.label, mean_curve(variant.trainings, bits_per_token));
    std::vector<std::string> row = {variant.label, final_text(variant.trainings, bits_per_token)};
    row.insert(row.end(), variant.more.begin(), variant.more.end());
    table.row(row);
  }
  result.plot(panel);
  result.table(title, table);
}

void run_power(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const auto paper = [](int p) {
    return p < 4 ? "sub-optimal" : p <= 8 ? "best" : "oscillates, unless stable; no better";
  };
  std::vector<Variant> variants = {{"softmax", text.softmax(), {""}}};
  for (const int p : TextStudy::kPowers) variants.push_back({message("p = ", p), text.power(p), {paper(p)}});
  for (const int p : TextStudy::kUnstablePowers)
    variants.push_back(
        {message("p = ", p, ", not stable"), text.power(p, PowerForm::kLipschitz), {paper(p)}});
  report(result, "by the power; not stable: without division by the row's maximum",
         TextStudy::after(
             variants[0].trainings.first().steps,
             text.model(AttentionKind::kSoftmax, TextStudy::kFamilyLayers, TextStudy::kFamilyWidth)),
         {"paper"}, variants);
}

void run_stable(StudyContext& context, StudyResult& result) {
  constexpr int kLayers = 16, kWidth = 32;
  const TextStudy text(context);
  struct Form {
    const char* label;
    AttentionKind attention;
    PowerForm form;
  };
  constexpr Form kForms[] = {{"softmax", AttentionKind::kSoftmax, PowerForm::kStable},
                             {"stable", AttentionKind::kPowerSoftmax, PowerForm::kStable},
                             {"not stable, epsilon", AttentionKind::kPowerSoftmax, PowerForm::kLipschitz},
                             {"not stable, no epsilon", AttentionKind::kPowerSoftmax, PowerForm::kPlain}};
  const attention::ModelConfig softmax = text.model(AttentionKind::kSoftmax, kLayers, kWidth);
  const size_t steps = context.steps(std::size(kForms) * text.flops(softmax));
  std::vector<Variant> variants;
  std::vector<double> final;
  for (const Form& form : kForms) {
    attention::ModelConfig model = text.model(form.attention, kLayers, kWidth);
    model.form = form.form;
    const Trainings trainings = text.train(form.label, model, steps);
    variants.push_back({form.label, trainings, {trainings.first().diverged}});
    final.push_back(mean_final(trainings, bits_per_token));
  }
  report(result, message(kLayers, " layers of d = ", kWidth), TextStudy::after(steps, softmax),
         {"what stopped it"}, variants);
  Table gap({"share of the gap to softmax that the stable variant closes", "ours", "paper"});
  const auto share = [&](double plain) {
    return plain > final[0] ? percent((plain - final[1]) / (plain - final[0])) : std::string("-");
  };
  gap.row({"against the form with epsilon", share(final[2]), "a third"});
  gap.row({"against the form without", share(final[3]), "-"});
  result.table("the gap", gap);
}

void run_epsilon(StudyContext& context, StudyResult& result) {
  constexpr double kEpsilons[] = {1e-4, 1e-3, 1e-2, 1e-1, 1};
  const TextStudy text(context);
  attention::ModelConfig model =
      text.model(AttentionKind::kPowerSoftmax, TextStudy::kFamilyLayers, TextStudy::kFamilyWidth);
  const size_t steps = context.steps(std::size(kEpsilons) * text.flops(model));
  std::vector<Variant> variants;
  for (const double epsilon : kEpsilons) {
    model.epsilon = epsilon;
    const std::string label = format("epsilon = %g", epsilon);
    variants.push_back({label,
                        text.train(label, model, steps),
                        {epsilon < 1 ? "robust; larger is better for the division" : "-"}});
  }
  report(result, "epsilon, added after division by the row's maximum",
         TextStudy::after(steps, model) + ", p = 4", {"paper"}, variants);
}

}  // namespace

Experiment power_experiment() {
  return {.name = "power",
          .title = "The power p in training",
          .scaled_down =
              "4 layers of d = 64 on characters of novels instead of WikiText-103; the paper's figure gives "
              "curves without numbers. The same models are looked into by attention-matrices.",
          .run = run_power};
}

Experiment stable_experiment() {
  return {.name = "stable",
          .title = "The stable variant in a deep, narrow model",
          .scaled_down =
              "16 layers of d = 32 instead of 32 layers of 1,024, characters of novels instead of a tenth of "
              "WikiText-103. fp32 as in the paper's framework, where x^4 overflows later than in half "
              "precision. The paper does not say whether its plain form had epsilon: both are here.",
          .run = run_stable};
}

Experiment epsilon_experiment() {
  return {.name = "epsilon",
          .title = "Epsilon in training",
          .scaled_down =
              "4 layers of d = 64 on characters of novels; the paper's figure gives curves without numbers.",
          .run = run_epsilon};
}

}  // namespace psm::cmd
