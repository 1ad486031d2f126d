#include "cmd/study/experiment.h"

#include "ckks/base/error.h"
#include "ckks/base/joined.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

using attention::AttentionKind;
using attention::PowerForm;

Row softmax() { return {.label = "softmax", .attention = AttentionKind::kSoftmax}; }
Row power(int p, PowerForm form = PowerForm::kStable) {
  return {.label = message("p = ", p, form == PowerForm::kStable ? "" : ", not stable"),
          .power = p,
          .form = form};
}
Row epsilon(const char* label, double epsilon) { return {.label = label, .epsilon = epsilon}; }

Row scaled_relu() { return {.label = "scaled ReLU", .attention = AttentionKind::kScaledRelu}; }

// Softmax, PowerSoftmax as the paper has it and scaled ReLU; and the PowerSoftmax of the default recipe.
std::vector<Row> compared(int paper_power) {
  const int p = train::kPower;
  return {softmax(),
          {.label = message("PowerSoftmax, p = ", paper_power), .power = paper_power},
          scaled_relu(),
          {.label = message("PowerSoftmax, p = ", p, ", c = ", p), .power = p, .offset = true}};
}

// The rest of the recipe after the last of these rows, to the polynomial model.
std::vector<Row> to_polynomial(std::vector<Row> rows) {
  Row form = rows.back();
  form.label = "the same weights in the encrypted form";
  form.from = static_cast<int>(rows.size()) - 1, form.form = PowerForm::kLengthAgnostic, form.steps = 0;
  Row ranges = form;
  ranges.label = "after range minimisation";
  ranges.steps = 0.5, ranges.losses = train::text_range_losses;
  Row polynomial = form;
  polynomial.label = "polynomial";
  polynomial.from = form.from + 2, polynomial.polynomial = true;
  rows.insert(rows.end(), {form, ranges, polynomial});
  return rows;
}

Row ranges_row(const char* label, double steps, train::RangeLosses (*losses)() = nullptr, int from = 0) {
  return {.label = label, .form = PowerForm::kLengthAgnostic, .from = from, .steps = steps, .losses = losses};
}

// The models of `power`, which other experiments start from: so they share its minutes.
constexpr int kLayers = 4, kWidth = 64, kHeads = 4;
constexpr double kPowerTrainings = 8;
Group power_sized(std::string title, std::vector<Row> rows) {
  return {std::move(title), kLayers, kWidth, kHeads, std::move(rows)};
}

}  // namespace

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = {
      {.name = "softmax-curves",
       .title = "Softmax and PowerSoftmax on the same scores",
       .labels = {"fig:motivationPowerSoftmax"},
       .scaled_down = "Nothing. The paper says neither p nor the scores: here p = 2, 4, 8 and 64 scores.",
       .budget = "seconds",
       .run = plot_softmax_curves},
      {.name = "division-error",
       .title = "Error of the division against epsilon",
       .labels = {"fig:epsilon"},
       .scaled_down = "Nothing. The domain [epsilon, 1 + epsilon] and most numbers of iterations are ours.",
       .budget = "seconds",
       .run = plot_division_error},
      {.name = "depth",
       .title = "Softmax, PowerSoftmax and scaled ReLU by depth, on real text",
       .labels = {"fig:powerVssoftmaxrWikit", "tab:comparison", "fig:robertaWikitext"},
       .scaled_down = "Characters of seven novels instead of WikiText-103, Text-8 and the Pile; 2, 4 and 8 "
                      "layers of d = 64, also for fig:robertaWikitext; minutes instead of days. Models are "
                      "far from converged, so compare the ratios of perplexities. The score offset is ours.",
       .groups = {{"2 layers", 2, 64, 2, compared(4)},
                  {"4 layers", 4, 64, 2, compared(4)},
                  {"8 layers", 8, 64, 2, compared(4)}}},
      {.name = "stable",
       .title = "The stable variant in a deep, narrow model",
       .labels = {"fig:stablityEmpirical"},
       .scaled_down = "16 layers of d = 32 instead of 32 layers of 1,024, characters of novels instead of a "
                      "tenth of WikiText-103. fp32, where x^4 overflows later than in half precision.",
       .groups = {{"16 layers of d = 32",
                   16,
                   32,
                   2,
                   {softmax(),
                    {.label = "stable"},
                    {.label = "not stable, epsilon", .form = PowerForm::kLipschitz},
                    {.label = "not stable, no epsilon", .form = PowerForm::kPlain}}}}},
      {.name = "power",
       .title = "The power p in training",
       .labels = {"fig:ablateP"},
       .scaled_down = "4 layers of d = 64 on characters of novels instead of WikiText-103.",
       .groups = {power_sized("by the power; not stable: without division by the row's maximum",
                              {softmax(), power(2), power(4), power(6), power(8), power(12),
                               power(8, PowerForm::kLipschitz), power(12, PowerForm::kLipschitz)})}},
      {.name = "epsilon",
       .title = "Epsilon in training",
       .labels = {"fig:epsilonTraining"},
       .scaled_down = "4 layers of d = 64 on characters of novels.",
       .groups = {power_sized(
           "epsilon, added after division by the row's maximum",
           {epsilon("epsilon = 1e-4", 1e-4), epsilon("epsilon = 1e-3", 1e-3), epsilon("epsilon = 0.01", 1e-2),
            epsilon("epsilon = 0.1", 1e-1), epsilon("epsilon = 1", 1)})}},
      {.name = "continual",
       .title = "Continual training from a softmax checkpoint",
       .labels = {"Continual Training"},
       .scaled_down = "The softmax model of `power` instead of Pythia 1.4B. It is minutes old, so going on "
                      "improves softmax too: one row says by how much.",
       .groups = {power_sized("continual training",
                              {softmax(),
                               {.label = "right after the replacement", .from = 0, .steps = 0},
                               {.label = "PowerSoftmax from softmax's weights", .from = 0, .steps = 0.25},
                               {.label = "softmax trained on alike",
                                .attention = AttentionKind::kSoftmax,
                                .from = 0,
                                .steps = 0.25},
                               {.label = "PowerSoftmax from scratch"}})},
       .trainings = kPowerTrainings},
      {.name = "range-loss",
       .title = "Range minimisation: what each function sees, by layer",
       .labels = {"eq:PWRoss", "tab:pythia_params"},
       .scaled_down = "The models p = 4 of `power`, and some hundred steps instead of 17,000 of Pythia's. "
                      "The paper gives no ranges. Its losses move the peaks alone; the smooth ones "
                      "(train/stages/range_losses.h) act on every entry outside its interval.",
       .groups = {power_sized(
           "range minimisation",
           {power(4),
            {.label = "before", .form = PowerForm::kLengthAgnostic, .from = 0, .steps = 0, .scaled = false},
            ranges_row("scores scaled", 0),
            ranges_row("without range losses", 0.5),
            ranges_row("the paper's losses", 0.5, train::paper_range_losses),
            ranges_row("smooth losses", 0.5, train::text_range_losses)})},
       .trainings = kPowerTrainings,
       .show = show_ranges},
      {.name = "attention-matrices",
       .title = "Attention matrices, averaged and single, and the mean attention distance",
       .labels = {"fig:AttnMeanDistance", "fig:AttnMats", "fig:AttnMatsSamples"},
       .scaled_down = "The models of `power` (pictures of seed 1) instead of three seeds of 12-layer models "
                      "with a context of 512 tokens of WikiText-103; 256 windows instead of 1,000.",
       .groups = {power_sized("by the power",
                              {power(2), power(4), power(6), power(8), power(12), softmax()})},
       .trainings = kPowerTrainings,
       .show = show_attention},
      {.name = "softmax-costs",
       .title = "Forms of attention weights on ciphertexts: levels, seconds and errors",
       .labels = {"tab:softmax_methods_comparison"},
       .scaled_down = "Two cores instead of an A100; one layer at 128 tokens is run, the rest predicted.",
       .budget = "ten minutes of two idle cores besides the training; 8 GB of memory",
       .groups = {{"what is trained",
                   2,
                   128,
                   4,
                   {softmax(), scaled_relu(), power(4),
                    ranges_row("after range minimisation", 0.5, train::text_range_losses, 2)}}},
       .trainings = 7.5,
       .show = show_softmax_costs},
      {.name = "vision",
       .title = "A ViT with softmax, PowerSoftmax and scaled ReLU, to its polynomial form",
       .labels = {"fig:powerVsbaseVision", "tab:comparison (images)"},
       .scaled_down = "MNIST instead of Tiny-ImageNet, CIFAR-100 and CIFAR-10, and of it the 10,000 test "
                      "images alone, which are at hand: every tenth is held out, the others are moved by up "
                      "to 2 pixels. 4 layers, d = 64, 16 patches of 7 x 7.",
       .data = StudyData::kImages,
       .groups = {{"MNIST", 4, 64, 4, to_polynomial(compared(4))}}},
      {.name = "sentences",
       .title = "Classified phrases (SST-2): an encoder to its polynomial form",
       .labels = {"tab:glue"},
       .scaled_down = "From random weights, instead of fine-tuning RoBERTa-base: 2 post-norm layers of d = "
                      "64 with p = 6 as in the paper. A part of SST-2's training file is held out.",
       .data = StudyData::kPhrases,
       .groups = {{"SST-2", 2, 64, 4, to_polynomial(compared(6))}},
       .trainings = 4.5 / 0.7},
  };
  return all;
}

const Experiment& experiment_named(std::string_view name) {
  for (const Experiment& experiment : experiments())
    if (experiment.name == name) return experiment;
  throw Error(message("there is no experiment '", name,
                      "'; there are: ", joined(experiments(), ", ", &Experiment::name), ", all"));
}

std::string command_of(const Experiment& experiment) {
  return message("bazel run //cmd:study -- run ", experiment.name);
}

}  // namespace psm::cmd
