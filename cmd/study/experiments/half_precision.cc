// What of PowerSoftmax's forms is there for half precision. The paper introduces the stable form for numerical
// stability and sees powers above 8 oscillate without it; in fp32 neither shows at the sizes tried here
// (`stable`, `power`). So rows of attention are rounded to bf16 and fp16 on the way from scores to weights.
#include <algorithm>
#include <iterator>
#include <limits>

#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 4, kWidth = 64;
constexpr nn::Rounding kRoundings[] = {nn::Rounding::kNone, nn::Rounding::kBf16, nn::Rounding::kFp16};

struct Form {
  const char* label;
  attention::PowerForm form;
};
constexpr Form kForms[] = {{"stable", attention::PowerForm::kStable},
                           {"Lipschitz", attention::PowerForm::kLipschitz},
                           {"plain", attention::PowerForm::kPlain}};

struct Power {
  int power;
  bool offset;
};
constexpr Power kPowers[] = {{4, false}, {8, false}, {12, false}, {6, true}};

double perplexity(const train::Evaluation& evaluation) { return evaluation.perplexity(); }

// By how much the held-out bits of a curve rise again after a point, at most; the largest of the seeds.
double largest_rise(const Trainings& trainings) {
  double rise = 0;
  for (const Trained& seed : trainings.seeds) {
    double lowest = std::numeric_limits<double>::infinity();
    for (const CurvePoint& point : seed.curve) {
      const double bits = bits_per_token(point.held_out);
      rise = std::max(rise, bits - lowest);
      lowest = std::min(lowest, bits);
    }
  }
  return rise;
}

// "1.003 +- 0.004", and of how many seeds there is nothing.
std::string ratio_text(const Trainings& trainings, const Trainings& reference) {
  const auto lost = std::count_if(trainings.seeds.begin(), trainings.seeds.end(),
                                  [](const Trained& seed) { return !seed.diverged.empty(); });
  const std::string ratio = paired_ratio_text(trainings, reference, perplexity);
  return lost == 0 || lost == static_cast<std::ptrdiff_t>(trainings.seeds.size())
             ? ratio
             : message(ratio, ", ", lost, " diverged");
}

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const attention::ModelConfig softmax = text.model(attention::AttentionKind::kSoftmax, kLayers, kWidth);
  const size_t trainings_each = std::size(kRoundings) * (1 + std::size(kForms) * std::size(kPowers));
  const size_t steps = context.steps(static_cast<double>(trainings_each) * text.flops(softmax));
  Table table({"attention", "form", "perplexity in fp32", "bf16 to it", "fp16 to it", "largest rise in fp32",
               "in bf16", "in fp16"});
  const auto add = [&](const std::string& label, const char* form, const attention::ModelConfig& model) {
    Trainings by_rounding[std::size(kRoundings)];
    for (size_t i = 0; i < std::size(kRoundings); ++i)
      by_rounding[i] = train_seeds(
          context, message(label, ", ", form, ", ", nn::name_of(kRoundings[i])), [&](uint64_t seed) {
            train::TrainerOptions options = text.training(steps, seed, /*fixed_offset=*/true);
            options.row_rounding = kRoundings[i];
            return text.train(
                message("half-", nn::name_of(kRoundings[i]), "-", TextStudy::name_of(model), "-s", seed),
                attention::random_weights(model, weight_seed(seed)), options);
          });
    const Trainings& fp32 = by_rounding[0];
    std::vector<std::string> row = {label, form, final_text(fp32, perplexity)};
    for (const size_t i : {1, 2}) row.push_back(ratio_text(by_rounding[i], fp32));
    for (const Trainings& trainings : by_rounding) row.push_back(format("%.3f", largest_rise(trainings)));
    table.row(row);
  };
  add("softmax", "-", softmax);
  for (const Power& power : kPowers)
    for (const Form& form : kForms) {
      attention::ModelConfig model = text.model(attention::AttentionKind::kPowerSoftmax, kLayers, kWidth);
      model.power = power.power;
      model.score_offset = power.offset;
      model.form = form.form;
      add(power.offset ? message("p = ", power.power, ", c = ", power.power) : message("p = ", power.power),
          form.label, model);
    }
  result.table(message("held-out text after ", steps, " steps of ", TextStudy::kBatch, " x ",
                       TextStudy::kContext, " characters, ", kLayers, " layers of d = ", kWidth,
                       "; rises are of bits a character between points of a curve"),
               table);
  result.note(
      "Rounded are scores, the scores divided by c, powers, sums and weights, each once; products of "
      "matrices "
      "and gradients are fp32, as if the loss were scaled to where gradients fit, and held-out text is "
      "scored "
      "in fp32.");
}

}  // namespace

Experiment half_precision_experiment() {
  return {
      .name = "half-precision",
      .title = "The forms of PowerSoftmax in half precision",
      .scaled_down =
          "4 layers of d = 64 on characters of novels instead of 32 layers of 1,024 on WikiText-103; half "
          "precision is emulated in the rows of attention alone.",
      .run = run};
}

}  // namespace psm::cmd
