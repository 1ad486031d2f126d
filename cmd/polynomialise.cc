// Step 3 of Algorithm 1: replaces 1/x (or softmax, or |x|), 1/sqrt(x), GELU (or SiLU) and the sigmoid of a
// head by polynomials on the measured ranges.
#include <bit>
#include <cstdio>

#include "attention/batched/measure.h"
#include "attention/encrypted/critical_path.h"
#include "attention/encrypted/encrypted_model.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "cmd/deployment/prompts.h"
#include "cmd/reports/polynomial_report.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {
namespace {

constexpr size_t kSlots = size_t{1} << 15;  // of the ring for which levels are counted

int polynomialise(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:polynomialise -- --model MODEL --out FILE [flags]",
      "Makes a trained model (final.safetensors of //cmd:train) polynomial: chooses for each function the\n"
      "polynomial of fewest levels that keeps the error bound on the model's measured range, widened by a "
      "margin,\n"
      "and prints its certificate and how often unseen data leaves the interval.");
  const std::string& model_path = flags.text("model", "", "trained model with measured ranges");
  const std::string& out = flags.text("out", "", "file for the polynomial model");
  const std::string& text =
      flags.text("text", "", "the text of a text model, to check the ranges on its held-out part");
  const std::string& valid =
      flags.text("valid", "", "the text held out, unless it is the last tenth of --text");
  const attention::PolynomialOptions defaults;
  const double& margin =
      flags.number("margin", defaults.margin, 1, 10, "factor by which measured ranges are widened");
  const double& norm_error =
      flags.number("norm-error", defaults.norm_error, 1e-9, 0.1, "relative error of 1/sqrt(x)");
  const double& inverse_error =
      flags.number("inverse-error", defaults.inverse_error, 1e-9, 0.1, "relative error of 1/x");
  const double& gelu_error = flags.number("gelu-error", defaults.gelu_error, 1e-9, 0.1,
                                          "absolute error of GELU, of SiLU and of the head's sigmoid");
  const std::string& softmax = flags.text("softmax", std::string(attention::name_of(defaults.softmax)),
                                          "of softmax models: taylor_goldschmidt or normalise_square");
  const std::string& division =
      flags.text("division", std::string(attention::name_of(defaults.division)),
                 "of PowerSoftmax: relaxed (the fewest levels) or goldschmidt (the paper's 21 "
                 "iterations)");
  const bool& paper =
      flags.truth("paper", false,
                  "the paper's polynomials: 21 iterations of Goldschmidt's division, and its plain "
                  "iteration for 1/sqrt(x)");
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  require_given(flags, {"model", "out"});

  attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(model_path));
  if (!checkpoint.ranges) {
    throw Error(message(model_path, " has no measured ranges; take final.safetensors of //cmd:train"));
  }
  if (paper && flags.given("division")) throw Error("--paper says how to divide; leave --division out");
  attention::PolynomialOptions options = paper ? attention::paper_polynomials() : defaults;
  options.margin = margin;
  options.norm_error = norm_error;
  options.inverse_error = inverse_error;
  options.gelu_error = gelu_error;
  if (!paper) options.division = attention::division_form_from(division);
  options.softmax = attention::softmax_form_from(softmax);
  const attention::PolynomialModel model =
      attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, options);
  std::printf("intervals: as measured on training data, %.4g times wider\n%s", margin,
              approximations_table(model).c_str());
  Json json;
  json["margin"] = margin;
  json["approximations"] = approximations_json(model);
  const attention::ModelConfig& config = checkpoint.weights.config;
  if (config.attention == attention::AttentionKind::kPowerSoftmax &&
      config.departure_from_gpt_neox().empty()) {
    const int tokens = static_cast<int>(std::bit_ceil(static_cast<unsigned>(config.context)));
    const auto paths = attention::critical_paths(
        attention::build_program(model, attention::make_packing(config, tokens, kSlots)));
    std::printf("%s", path_table(paths).c_str());
    json["levels"] = path_json(paths);
  }

  const bool recall = PromptCodec(checkpoint).is_recall();
  if (recall || !text.empty()) {
    const Task task = Task::of(checkpoint, resolve_user_path(text), resolve_user_path(valid));
    const train::Batch test = task.test();
    const std::vector<attention::RangeUse> uses = attention::count_range_leaves(model, test.examples());
    std::printf("on unseen data:\n%s", range_use_table(uses, config.layers).c_str());
    json["unseen"] = range_use_json(uses);
    TaskScores scores = read_scores(checkpoint);
    static_cast<train::Evaluation&>(scores.polynomial) = train::evaluate_polynomial(model, test);
    scores.polynomial.tokens = scores.ranges.tokens;
    write_scores(scores, checkpoint);
    std::printf("%s", scores_table(task, scores).c_str());
    json["scores"] = scores_json(scores);
  }
  checkpoint.polynomial = options;
  attention::save_checkpoint(resolve_user_path(out), checkpoint);
  std::printf("wrote %s\n", out.c_str());
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::cmd::polynomialise(argc, argv); });
}
