// Step 3 of Algorithm 1: replaces 1/x (or softmax, or |x|), 1/sqrt(x), GELU (or SiLU) and the sigmoid of a
// head by polynomials on the measured ranges.
#include <algorithm>
#include <bit>
#include <cmath>

#include "attention/encrypted/encrypted_model.h"
#include "attention/reference/range_use.h"
#include "attention/trained/measure.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/progress.h"
#include "ckks/program/machines/twin.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/reports/polynomial_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {
namespace {

constexpr size_t kSlots = size_t{1} << 15;  // of the ring for which levels are counted

// What hinders an encrypted form: something about the model, or its context; empty if nothing does.
std::string without_encrypted_form(const attention::ModelConfig& config) {
  if (std::string why = config.without_encrypted_form(); !why.empty()) return why;
  const auto head = static_cast<size_t>(attention::head_features(config));
  const size_t slots = std::bit_ceil(static_cast<unsigned>(config.context)) * head;
  if (slots <= kSlots) return {};
  return message("context is ", config.context, ", and with heads of ", config.head_dim(),
                 " dimensions a ciphertext holds ", kSlots / head, " tokens; cut it with --tokens");
}

// Counts values outside [-1, 1] where the slot program needs them inside: before a bootstrap, and scores. Runs it in
// the clear on the first examples, as many as share eight times its ciphertexts. Says what to do about it.
Json count_unit_range_leaves(const attention::PolynomialModel& model, const program::Program& program,
                             const attention::Packing& packing, const attention::Examples& examples,
                             double margin) {
  constexpr size_t kRuns = 8;
  const auto together = static_cast<size_t>(packing.prompts);
  const size_t sequences = std::min(examples.size(), kRuns * together);
  size_t outside = 0;  // slots
  double worst = 0;    // |re| or |im|
  std::string where;   // the operation of the worst
  program::TwinOptions count;
  count.on_range = program::TwinOptions::OnRange::kCount;
  const attention::ClientModel client = attention::client_model_of(model, packing);
  {
    Progress progress("counting values outside [-1, 1]", static_cast<double>(sequences));
    for (size_t begin = 0; begin < sequences; begin += together) {
      const size_t end = std::min(begin + together, sequences);
      attention::Examples group;
      for (size_t i = begin; i < end; ++i) {
        if (!examples.texts.empty()) group.texts.push_back(examples.texts[i]);
        if (!examples.images.empty()) group.images.push_back(examples.images[i]);
      }
      const program::TwinResult result =
          program::run_twin(program, attention::client_inputs(client, group), count);
      for (const program::RangeViolation& violation : result.violations) {
        outside += violation.slots;
        if (std::abs(violation.worst) <= worst) continue;
        worst = std::abs(violation.worst);
        where = violation.operation;
      }
      progress.set(static_cast<double>(end));
    }
  }
  print("in the slot program, on ", sequences, " of the sequences: ", outside,
        " values outside [-1, 1] that must be inside");
  if (outside > 0)
    print(", up to ", format("%.3g", worst), " at ", where,
          "; such prompts are refused, so repeat with `--margin ",
          format("%.4g", std::max(2.0, std::ceil(10 * margin * worst) / 10)), "`");
  print("\n");
  return Json::Object{{"sequences", static_cast<int64_t>(sequences)},
                      {"outside", static_cast<int64_t>(outside)},
                      {"worst", worst}};
}

int polynomialise(int argc, char** argv) {
  Command flags("bazel run //cmd:polynomialise -- --model MODEL --out FILE [flags]",
                "Makes a trained model (final.safetensors of //cmd:train) polynomial: chooses for each "
                "function the polynomial of fewest levels that keeps the error bound on the model's measured "
                "range, widened, and prints its certificate and how often unseen data leaves the interval.");
  const std::string& model_path = flags.text("model", "", "trained model with measured ranges");
  const std::string& out = flags.output("out", "file for the polynomial model");
  TaskFlags data(flags);
  const double& margin =
      flags.number("margin", 0, 0, 10,
                   "factor by which all measured ranges are widened on both sides; 0: 1.25, and those of the "
                   "relaxed 1/x above as far as the levels that they take hold");
  const bool& paper = flags.truth("paper", false,
                                  "the paper's polynomials: 21 iterations of Goldschmidt's division, and its "
                                  "plain iteration for 1/sqrt(x)");
  const int64_t& tokens =
      flags.integer("tokens", 0, 0, 1 << 20,
                    "cuts the model's context to so many tokens, as the encrypted form has; 0: not");
  const int64_t& windows =
      flags.integer("windows", 128, 0, INT32_MAX,
                    "of held-out text on which values outside the intervals are counted; 0: all");
  flags.begin(argc, argv, {"model", "out"});
  if (flags.given("windows") && data.text.empty())
    throw Error("--windows are those of a held-out text; leave it out, or give the text with --text");

  attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(model_path));
  if (tokens > 0) attention::set_context(checkpoint.weights, static_cast<int>(tokens), /*may_grow=*/false);
  if (!checkpoint.ranges) {
    throw Error(message(model_path, " has no measured ranges; take final.safetensors of //cmd:train"));
  }
  attention::PolynomialOptions options =
      paper ? attention::paper_polynomials() : attention::PolynomialOptions{};
  if (margin != 0) options.margin = margin;
  const attention::PolynomialModel model =
      attention::make_polynomial(checkpoint.weights, *checkpoint.ranges, options);
  print("intervals: as measured on training data, ",
        format("%.4g", options.margin.value_or(attention::kMargin)), " times wider",
        options.margin ? "" : ", those of the relaxed 1/x above as far as their levels hold", "\n",
        approximation_figures(model).table().text());
  Json json;
  json["margin"] = options.margin ? Json(*options.margin) : Json();
  json["approximations"] = approximation_figures(model).json();
  const attention::ModelConfig& config = checkpoint.weights.config;
  attention::Packing packing;
  program::Program program;
  if (const std::string why = without_encrypted_form(config); !why.empty()) {
    print("no encrypted form: ", why, "\n");
  } else {
    packing = attention::make_packing(config, config.context, kSlots);
    program = attention::build_program(model, packing);
  }

  if (data.tasks() > 0 || codec_of(checkpoint.weights.config, checkpoint.notes).is_recall()) {
    const Task task = Task::of(checkpoint, data);
    const train::Batch test = task.test();
    const train::Batch unseen = task.test(windows > 0 ? static_cast<int>(windows) : INT32_MAX);
    const std::vector<attention::RangeUse> uses = attention::count_range_leaves(model, unseen.examples());
    const Figures figures = range_use_figures(uses, config.layers);
    print("on unseen data:\n", figures.table().text(), range_use_advice(uses));
    json["unseen"] = figures.json();
    // Where a value leaves the interval of a polynomial, what follows means nothing.
    if (!program.instructions.empty() && range_use_advice(uses).empty())
      json["unseen_slot_program"] = count_unit_range_leaves(model, program, packing, unseen.examples(),
                                                            options.margin.value_or(attention::kMargin));
    TaskScores scores = read_scores(checkpoint);
    scores.polynomial = {train::evaluate(attention::batched(model), test, "scoring the polynomial model"),
                         scores.ranges.tokens};
    write_scores(scores, checkpoint);
    // The table and the JSON compare scores on the same data only; the checkpoint keeps all.
    if (scores.data != task.source->description())
      scores.softmax = scores.replaced = scores.trained = scores.ranges = {};
    scores.data = task.source->description();
    print(scores_table(task, scores));
    json["scores"] = scores_json(scores);
  }
  checkpoint.polynomial = options;
  attention::save_checkpoint(resolve_user_path(out), checkpoint);
  print("wrote ", out, "\n");
  flags.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::polynomialise, argc, argv); }
