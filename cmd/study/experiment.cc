#include "cmd/study/experiment.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm {

std::span<const Experiment> experiments() {
  static const std::vector<Experiment> all = {
      softmax_curves_experiment(),
      division_error_experiment(),
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
  static const std::vector<PaperItem> items = {
      {"fig:motivationPowerSoftmax", "softmax and PowerSoftmax on normal, uniform and even values",
       "softmax-curves", ""},
      {"fig:MainFig", "drawing of the attention variants; the forms are in attention/power_softmax.h", "",
       "-"},
      {"fig:epsilon", "division error against epsilon (the figure carries another caption)", "division-error",
       ""},
      {"fig:tt0", "latency of encrypted Pythia 70M, first layer", "",
       "bazel run //cmd:plan -- --shape pythia-70m --tokens 128"},
      {"fig:tt1", "latency of encrypted Pythia 70M, other layers", "",
       "bazel run //cmd:plan -- --shape pythia-70m --tokens 128"},
      {"MSE over HE", "encrypted against polynomial model: MSE of logits, same argmax", "",
       "bazel run //cmd:demo"},
  };
  return items;
}

std::string command_of(const PaperItem& item) {
  return item.experiment.empty() ? item.command : "bazel run //cmd:study -- run " + item.experiment;
}

}  // namespace psm
