// Step 3 of Algorithm 1: replaces 1/x (or softmax, or |x|), 1/sqrt(x) and GELU by polynomials on the measured ranges.
#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/base/file.h"
#include "ckks/base/flags.h"
#include "cmd/common_flags.h"
#include "cmd/polynomial_report.h"
#include "cmd/prompts.h"
#include "cmd/table.h"
#include "cmd/training_run.h"

namespace psm {
namespace {

int polynomialise(int argc, char** argv) {
  Flags flags("bazel run //cmd:polynomialise -- --model MODEL --out FILE [flags]",
              "Makes a trained model (final.safetensors of //cmd:train) polynomial: chooses for each function the\n"
              "polynomial of fewest levels that keeps the error bound on the model's measured range, widened by a margin,\n"
              "and prints its certificate and how often unseen data leaves the interval.");
  const std::string& model_path = flags.text("model", "", "trained model with measured ranges");
  const std::string& out = flags.text("out", "", "file for the polynomial model");
  const std::string& text = flags.text("text", "", "the text of a character model, to check the ranges on its held-out part");
  const std::string& valid = flags.text("valid", "", "the text held out, unless it is the last tenth of --text");
  const PolynomialOptions defaults;
  const double& margin = flags.number("margin", defaults.margin, 1, 10, "factor by which measured ranges are widened");
  const double& norm_error = flags.number("norm-error", defaults.norm_error, 1e-9, 0.1, "relative error of 1/sqrt(x)");
  const double& inverse_error = flags.number("inverse-error", defaults.inverse_error, 1e-9, 0.1, "relative error of 1/x");
  const double& gelu_error = flags.number("gelu-error", defaults.gelu_error, 1e-9, 0.1, "absolute error of GELU");
  const std::string& softmax = flags.text("softmax", std::string(name_of(defaults.softmax)),
                                          "of softmax models: taylor_goldschmidt or normalise_square");
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  require_given(flags, {"model", "out"});

  Checkpoint checkpoint = load_checkpoint(resolve_user_path(model_path));
  if (!checkpoint.ranges) {
    throw Error(message(model_path, " has no measured ranges; take final.safetensors of //cmd:train"));
  }
  PolynomialOptions options;
  options.margin = margin;
  options.norm_error = norm_error;
  options.inverse_error = inverse_error;
  options.gelu_error = gelu_error;
  options.softmax = softmax_form_from(softmax);
  const PolynomialModel model = make_polynomial(checkpoint.weights, *checkpoint.ranges, options);
  std::printf("%s", approximations_table(model).c_str());

  const PromptCodec codec(checkpoint);
  if (codec.is_recall() || !text.empty()) {
    const Task task = Task::of(checkpoint, resolve_user_path(text), resolve_user_path(valid));
    const Batch test = task.test();
    std::vector<std::vector<int>> sequences;
    for (int s = 0; s < test.sequences; ++s) {
      const auto begin = test.tokens.begin() + static_cast<ptrdiff_t>(s) * test.length;
      sequences.emplace_back(begin, begin + test.length);
    }
    const std::vector<RangeUse> uses = count_range_leaves(model, sequences);
    std::printf("on unseen data:\n%s", range_use_table(uses).c_str());
    TaskScores scores = read_scores(checkpoint);
    static_cast<Evaluation&>(scores.polynomial) = evaluate_polynomial(model, test);
    scores.polynomial.tokens = scores.ranges.tokens;
    write_scores(scores, checkpoint);
    std::printf("%s", scores_table(task, scores).c_str());
  }
  checkpoint.polynomial = options;
  save_checkpoint(resolve_user_path(out), checkpoint);
  std::printf("wrote %s\n", out.c_str());
  Json json;
  json["approximations"] = approximations_json(model);
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::polynomialise(argc, argv); });
}
