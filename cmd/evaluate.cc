// How good a checkpoint is on unseen data: the model as trained, and its polynomial form if it has one.
#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/base/file.h"
#include "ckks/base/flags.h"
#include "cmd/common_flags.h"
#include "cmd/table.h"
#include "cmd/training_run.h"

namespace psm {
namespace {

int evaluate_command(int argc, char** argv) {
  Flags flags("bazel run //cmd:evaluate -- --model MODEL [--text FILE] [flags]",
              "Scores a model on unseen data: recall on drawn sequences, or perplexity on the held-out part of the text.");
  const std::string& model_path = flags.text("model", "", "a checkpoint of //cmd:train or //cmd:polynomialise");
  const std::string& text = flags.text("text", "", "the text of a character model");
  const std::string& valid = flags.text("valid", "", "the text held out, unless it is the last tenth of --text");
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  require_given(flags, {"model"});

  const Checkpoint checkpoint = load_checkpoint(resolve_user_path(model_path));
  const Task task = Task::of(checkpoint, resolve_user_path(text), resolve_user_path(valid));
  const Batch test = task.test();
  Table table({"form", "recall", "perplexity", "positions"});
  Json json;
  const auto row = [&](const char* name, const Evaluation& e) {
    table.row({name, percent(e.accuracy()), format("%.4f", e.perplexity()), std::to_string(e.scored)});
    json[name]["accuracy"] = e.accuracy();
    json[name]["perplexity"] = e.perplexity();
    json[name]["positions"] = static_cast<int64_t>(e.scored);
  };
  row("trained", evaluate(checkpoint.weights, test));
  if (checkpoint.ranges && checkpoint.polynomial) {
    row("polynomial",
        evaluate_polynomial(make_polynomial(checkpoint.weights, *checkpoint.ranges, *checkpoint.polynomial), test));
  }
  std::printf("%s", table.text().c_str());
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::evaluate_command(argc, argv); });
}
