#include "cmd/study/experiments/experiment.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::cmd {

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = {
      softmax_curves_experiment(),
      division_error_experiment(),
      depth_experiment(),
      stable_experiment(),
      power_experiment(),
      epsilon_experiment(),
      continual_experiment(),
      range_loss_experiment(),
      attention_matrices_experiment(),
      softmax_costs_experiment(),
      vision_experiment(),
      sentences_experiment(),
      tasks_experiment(),
      encrypted_agreement_experiment(),
  };
  return all;
}

const Experiment& experiment_named(const std::string& name) {
  const auto all = experiments();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Experiment& e) { return e.name == name; });
  if (found != all.end()) return *found;
  std::string known;
  for (const Experiment& experiment : all) known += experiment.name + ", ";
  throw Error(message("there is no experiment '", name, "'; there are: ", known, "all"));
}

std::span<const PaperItem> paper_items() {
  constexpr const char* kPass = "bazel run //cmd:bench -- --suite model --shape pythia-70m --tokens 128";
  constexpr const char* kPassBudget = "six minutes of two idle cores; 12 GB of memory";
  constexpr const char* kPassScaledDown =
      "nothing in the shape; all six layers run on two cores instead of an A100, with random weights unless "
      "--model gives trained ones";
  static const std::vector<PaperItem> items = {
      {"fig:motivationPowerSoftmax", "softmax and PowerSoftmax on normal, uniform and even values",
       "softmax-curves", ""},
      {"fig:MainFig", "drawing of the attention variants; the forms are in attention/rows/power_softmax.h",
       "", "-"},
      {"fig:powerVssoftmaxrWikit", "training curves of softmax and PowerSoftmax by depth", "depth", ""},
      {"tab:comparison", "final perplexities by depth (language)", "depth", ""},
      {"fig:robertaWikitext", "softmax, PowerSoftmax and scaled ReLU", "depth", ""},
      {"fig:stablityEmpirical", "the stable variant in a deep model", "stable", ""},
      {"fig:ablateP", "the power p in training", "power", ""},
      {"fig:epsilonTraining", "epsilon in training", "epsilon", ""},
      {"fig:epsilon", "division error against epsilon (the figure carries another caption)", "division-error",
       ""},
      {"Continual Training", "a softmax checkpoint with its attention replaced, before and after fine-tuning",
       "continual", ""},
      {"eq:PWRoss", "range minimisation: ranges by layer before and after", "range-loss", ""},
      {"tab:pythia_params", "epsilon, loss weights and learning rates of range minimisation", "range-loss",
       ""},
      {"alg:alg", "every stage of the recipe, to the polynomial model", "",
       "bazel run //cmd:train -- --text FILE --out FOLDER, then //cmd:polynomialise", "minutes",
       "a model of 4 layers on a text at hand instead of Pythia 70M and 1.4B on the Pile"},
      {"fig:AttnMeanDistance", "mean attention distance by layer and p", "attention-matrices", ""},
      {"fig:AttnMats", "averaged attention matrices", "attention-matrices", ""},
      {"fig:AttnMatsSamples", "single attention matrices", "attention-matrices", ""},
      {"tab:softmax_methods_comparison", "cost of the polynomial alternatives to softmax", "softmax-costs",
       ""},
      {"larger models and contexts", "a whole pass of Llama 7B, and of other shapes and lengths, predicted",
       "", "bazel run //cmd:plan -- --shape llama-7b --tokens 128", "a minute", "predicted, not run"},
      {"fig:powerVsbaseVision", "training curves of ViTs with softmax and PowerSoftmax", "vision", ""},
      {"tab:comparison (images)", "final accuracies of ViTs", "vision", ""},
      {"tab:glue", "sentence classification, to the polynomial model", "sentences", ""},
      {"tab:pile", "zero- and five-shot tasks of the evaluation harness", "tasks", ""},
      {"fig:tt0", "latency of encrypted Pythia 70M, first layer", "", kPass, kPassBudget, kPassScaledDown},
      {"fig:tt1", "latency of encrypted Pythia 70M, other layers", "", kPass, kPassBudget, kPassScaledDown},
      {"App. Experiments over HE",
       "seconds by kind of operation: products, 1/sqrt, GELU, PowerSoftmax, bootstraps", "", kPass,
       kPassBudget, kPassScaledDown},
      {"MSE over HE", "encrypted against polynomial model: MSE of logits, same argmax", "encrypted-agreement",
       ""},
  };
  return items;
}

std::string command_of(const PaperItem& item) {
  return item.experiment.empty() ? item.command : "bazel run //cmd:study -- run " + item.experiment;
}

}  // namespace psm::cmd
