// What longer contexts and larger models cost encrypted, and what bounds them: whole passes, metered.
#include <algorithm>
#include <numeric>

#include "attention/encrypted/encrypted_model.h"
#include "ckks/base/error.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/deployment/published_shapes.h"
#include "cmd/study/experiments/calibration.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/timing/pass_breakdown.h"

namespace psm::cmd {
namespace {

constexpr int kContexts[] = {32, 64, 128, 256, 512, 1024};
constexpr const char* kShapes[] = {"pythia-70m", "gpt2", "pythia-1.4b", "llama-7b"};
constexpr int kTokens = 128;  // of the shapes beside one another

// Computations (pass_breakdown.h) under one name each.
struct Kind {
  const char* name;
  std::vector<std::string> parts;
};
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"matrices", {"linear_query_key_value_up", "linear_output_down"}},
      {"attention", {"masks", "scores", "times_values"}},
      {"polynomials", {"powers", "inverse", "gelu", "inverse_square_root"}},
      {"bootstraps", {"bootstraps"}},
  };
  return all;
}

Json metered(const PublishedShape& shape, int tokens, const ckks::Context& crypto,
             const program::CostModel& costs) {
  const attention::ModelConfig config = shape.config(tokens);
  const attention::Packing packing =
      attention::make_packing(config, tokens, static_cast<size_t>(crypto.slots()));
  const program::Plan plan = program::plan(attention::build_shape_program(config, packing, {}, {}),
                                           program::budget_of(crypto), costs);
  const program::MeterReading reading = program::meter(plan, costs);
  Json json;
  json["layers"] = config.layers;
  json["prompts"] = packing.prompts;
  json["ciphertexts"] = packing.state_ciphertexts();
  json["bootstraps"] = reading.counts.bootstraps;
  json["key_switches"] = reading.counts.hoisted_key_switches + reading.counts.full_key_switches +
                         reading.counts.relinearisations + reading.counts.conjugations;
  json["key_bytes"] = reading.key_bytes();
  json["program_bytes"] = reading.constant_bytes;
  json["peak_bytes"] = reading.peak_bytes();
  PassTimes none;
  none.seconds.resize(plan.program.instructions.size());
  none.encode_seconds.resize(plan.program.instructions.size());
  double seconds = 0;
  for (const PassPart& part : by_computation(plan, none, reading.instruction_seconds)) {
    json["parts"][part.name] = part.predicted;
    seconds += part.predicted;
  }
  json["seconds"] = seconds;
  return json;
}

double seconds_of(const Json& reading, const Kind& kind) {
  double seconds = 0;
  for (const std::string& part : kind.parts)
    seconds += number(reading.at("parts", "a reading"), part.c_str());
  return seconds;
}

// "attention, 61%".
std::string bound_of(const Json& reading) {
  const auto largest = std::max_element(kinds().begin(), kinds().end(), [&](const Kind& a, const Kind& b) {
    return seconds_of(reading, a) < seconds_of(reading, b);
  });
  return message(largest->name, ", ", percent(seconds_of(reading, *largest) / number(reading, "seconds")));
}

void run(StudyContext& context, StudyResult& result) {
  const ckks::Context crypto(ckks::secure_n16());
  const ckks::BootstrapPlan bootstrap(crypto);
  const program::KernelSeconds kernels = kernel_seconds(context, crypto);
  const program::CostModel costs(crypto.chain(), kernels, program::figures_of(bootstrap, kernels));
  const double unit = costs.bootstrap().seconds;
  const auto reading_of = [&](const char* shape, int tokens) {
    return context.once(message(shape, " at ", tokens),
                        [&] { return metered(published_shape(shape), tokens, crypto, costs); });
  };

  Table by_length({"tokens", "prompts at once", "ciphertexts of the state", "seconds", "a prompt's token",
                   "over a full bootstrap", "bootstraps", "key switches outside of them", "keys",
                   "memory at its peak", "bound by"});
  std::vector<PlotPoints> lines(kinds().size());
  PlotPoints total;
  for (const int tokens : kContexts) {
    const Json reading = reading_of("pythia-70m", tokens);
    const double seconds = number(reading, "seconds"), prompts = number(reading, "prompts");
    by_length.row({std::to_string(tokens), format("%.0f", prompts),
                   format("%.0f", number(reading, "ciphertexts")), format("%.1f", seconds),
                   seconds_text(seconds / (prompts * tokens)), format("%.1f", seconds / unit),
                   format("%.0f", number(reading, "bootstraps")),
                   format("%.0f", number(reading, "key_switches")), bytes_text(number(reading, "key_bytes")),
                   bytes_text(number(reading, "peak_bytes")), bound_of(reading)});
    for (size_t k = 0; k < kinds().size(); ++k)
      lines[k].emplace_back(tokens, seconds_of(reading, kinds()[k]) / prompts);
    total.emplace_back(tokens, seconds / prompts);
  }
  result.table("Pythia 70M by the length of its prompt: a whole pass, metered", by_length);
  SvgPanel plot;
  plot.title = "Pythia 70M: seconds a prompt by its length, metered";
  plot.x_label = "tokens";
  plot.y_label = "seconds";
  plot.x_log = plot.y_log = true;
  plot.line("all", total);
  for (size_t k = 0; k < kinds().size(); ++k) plot.line(kinds()[k].name, lines[k]);
  result.plot(plot);

  Table by_shape({"shape", "layers", "ciphertexts of the state", "seconds a layer", "over a full bootstrap",
                  "seconds", "bootstraps", "weights in the program", "memory at its peak", "bound by"});
  for (const char* name : kShapes) {
    const Json reading = reading_of(name, kTokens);
    const double seconds = number(reading, "seconds"), layers = number(reading, "layers");
    by_shape.row({published_shape(name).what, format("%.0f", layers),
                  format("%.0f", number(reading, "ciphertexts")), format("%.1f", seconds / layers),
                  format("%.1f", seconds / layers / unit), format("%.0f", seconds),
                  format("%.0f", number(reading, "bootstraps")), bytes_text(number(reading, "program_bytes")),
                  bytes_text(number(reading, "peak_bytes")), bound_of(reading)});
  }
  result.table(message("models by their size: ", kTokens, " tokens, metered"), by_shape);
  result.note(message(
      "Metered with this machine's calibration, a full bootstrap at ", format("%.2f", unit),
      " s, ranges nominal, encoding of plaintexts that are not kept apart. Attention grows with the pairs of "
      "blocks of tokens that a ciphertext holds, all else with the blocks; no score is ever refreshed "
      "(attention/encrypted/encrypted_attention.h). Of the larger models the weights that a program holds "
      "bound the memory. ",
      crypto.describe()));
}

}  // namespace

Experiment context_costs_experiment() {
  return {.name = "context-costs",
          .title = "What longer contexts and larger models cost encrypted",
          .scaled_down =
              "Metered, not run: `//cmd:bench -- --suite model --layers 1` runs a layer of any row "
              "that has room.",
          .budget = "two minutes of two idle cores; 2 GB of memory",
          .run = run};
}

}  // namespace psm::cmd
