#include <algorithm>
#include <map>
#include <numeric>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"
#include "cmd/prompts/comparison.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/device.h"
#include "cmd/server/memory_flag.h"
#include "cmd/timing/suites.h"

namespace psm::cmd {
namespace {

using program::Instruction;
using program::Opcode;
using program::WorkKind;

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// A linear map counts as its products; its rotations are taken out of that.
const char* operation_part(Opcode opcode) {
  static const std::map<Opcode, const char*> kParts{{Opcode::kBootstrap, "bootstrap"},
                                                    {Opcode::kRotate, "rotate"},
                                                    {Opcode::kSumOfRotations, "rotate"},
                                                    {Opcode::kConjugate, "rotate"},
                                                    {Opcode::kLinear, "plaintext_products"},
                                                    {Opcode::kMultiplyPlain, "plaintext_products"},
                                                    {Opcode::kMultiply, "ciphertext_products"},
                                                    {Opcode::kSumOfProducts, "ciphertext_products"},
                                                    {Opcode::kSeries, "polynomials"}};
  const auto found = kParts.find(opcode);
  return found == kParts.end() ? "other" : found->second;
}

// Predicted seconds of the plaintext products of a linear map.
double predicted_products(const Instruction& instruction, size_t slots, ckks::Level level,
                          const program::CostModel& costs) {
  const ckks::TransformCounts map = ckks::transform_schedule(*instruction.linear, slots).counts;
  const double limbs = 2.0 * weight_basis(*instruction.linear, costs.chain(), level).limbs();
  program::Work work;
  work[WorkKind::kMultiply] = limbs * static_cast<double>(map.full_terms);
  work[WorkKind::kRunProduct] = limbs * static_cast<double>(map.periodic_terms);
  return costs.kernels().of(work);
}

Figures by_operation(const program::Plan& plan, const program::RunResult& times,
                     const RunFigures::Prediction& prediction, double pass) {
  struct Part {
    double seconds = 0, predicted = 0;
  };
  std::map<std::string, Part> parts;
  Part &encode = parts["encode"], &rotate = parts["rotate"];
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    Part& part = parts[operation_part(instruction.opcode)];
    double seconds = times.seconds[i] - times.encode_seconds[i];
    double expected = prediction.instructions[i] - prediction.encoding[i];
    encode.seconds += times.encode_seconds[i];
    encode.predicted += prediction.encoding[i];
    if (instruction.opcode == Opcode::kLinear) {
      const double expected_products =
          predicted_products(instruction, plan.program.slots, plan.argument_level[i], *prediction.costs);
      const double products = seconds * std::min(1.0, expected_products / expected);
      rotate.seconds += seconds - products;
      rotate.predicted += expected - expected_products;
      seconds = products, expected = expected_products;
    }
    part.seconds += seconds;
    part.predicted += expected;
  }
  Figures figures;
  for (const char* name : {"bootstrap", "encode", "rotate", "plaintext_products", "ciphertext_products",
                           "polynomials", "other"}) {
    const Part& part = parts[name];
    figures.row()
        .both("name", "by operation", name)
        .number("seconds", "seconds", part.seconds, "%.2f")
        .cell("share", percent(part.seconds / pass))
        .number("predicted", "predicted", part.predicted, "%.2f");
  }
  return figures;
}

// Seconds of a forward transform of one limb on one thread: a unit of time that depends on the machine alone.
double transform_seconds(const ckks::Ring& ring) {
  Buffer limb(ring.n());
  std::fill_n(limb.data(), limb.size(), ring.q(0).value - 1);
  return measure(7, [&] { ckks::kernels().ntt_forward(limb.data(), limb.data(), ring.ntt(0)); }).median;
}

}  // namespace

ModelTimes model_suite(Deployment& d, const std::string& name, const std::vector<std::vector<int>>& prompts,
                       ckks::Device* device, const SuiteOptions& options) {
  PSM_CHECK(options.repetitions >= 1 && options.bootstrap_repetitions >= 1, options.repetitions);
  PSM_CHECK(!prompts.empty());
  if (prompts.size() > static_cast<size_t>(d.packing.prompts))
    throw Error(message(prompts.size(), " prompts do not share a pass; give 1 to ", d.packing.prompts));
  ModelTimes times{.ledger = program::Ledger(d.plan, d.context->scales())};
  Figures passes, launches;
  RunFigures figures(d, 0, device != nullptr);
  require_memory(d.server_bytes(device != nullptr));
  fit_to_device(device, d);

  figures.calibrate();

  say("the twin, in the clear");
  const TwinPrediction twin = run_twin_on(d, prompts);
  times.ledger.set_ranges(twin.observations);
  times.ledger.set_predicted_errors(twin.own_error, twin.accumulated_error);
  say("keys");
  Session session(d, figures, engine_on(device, *d.context));
  const attention::ClientModel client = attention::client_model_of(d.model, d.packing);
  const Session::Ciphertexts inputs = session.encrypt(attention::client_inputs(client, prompts));

  std::vector<double> seconds, bootstraps, transforms;  // of warm passes; of the others alone
  std::vector<program::RunResult> warm;                 // without outputs
  double first = 0;
  program::RunResult last;
  for (int pass = 0; pass <= options.repetitions; ++pass) {
    say(pass == 0 ? "the first pass" : message("warm pass ", pass, " of ", options.repetitions));
    last = {};  // its outputs make room
    const double start = seconds_now();
    last = session.run(inputs);
    const double took = device == nullptr ? sum(last.seconds) : seconds_now() - start;
    if (pass == 0) {
      first = took;
      continue;
    }
    seconds.push_back(took);
    warm.push_back({{}, last.seconds, last.encode_seconds});
    for (int i = 0; i < options.bootstrap_repetitions && d.plan.bootstraps > 0; ++i)
      bootstraps.push_back(session.bootstrap_seconds());
    transforms.push_back(transform_seconds(d.context->ring()));
  }
  const double pass = times_of(seconds).median;
  program::RunResult parts =
      std::move(warm[static_cast<size_t>(std::ranges::find(seconds, pass) - seconds.begin())]);
  if (device != nullptr) {
    say("a pass that waits for each instruction");
    last = {};
    program::RunOptions waiting;
    waiting.waits = true;
    device->take_log();
    device->time_launches(true);
    last = session.run(inputs, waiting);
    launches = log_figures("a pass that waits", device->take_log());
    parts = {{}, last.seconds, last.encode_seconds};
  }

  const attention::SlotVectors outputs = session.decrypt(last.outputs);
  LogitRows rows;
  append_logits(client, outputs, prompts, rows);
  const Comparison c = compare_logits(twin.logits, rows, twin.predicted_std);
  for (const auto& output : d.plan.program.outputs)
    times.ledger.set_measured(output.value, outputs.at(output.name), twin.outputs.at(output.name));

  say("calibrating, for the plan's prediction");
  const RunFigures::Prediction& predicted = figures.predict_seconds();
  times.ledger.set_seconds(parts.seconds);
  times.ledger.set_predicted_seconds(predicted.instructions);
  const Figures operations = by_operation(d.plan, parts, predicted, pass);
  times.run = figures.figures();
  Figures head;
  head.row()
      .json("shape", name)
      .json("tokens", d.packing.tokens)
      .json("layers", d.model.weights.config.layers)
      .json("prompts", static_cast<int64_t>(prompts.size()))
      .json("params", parameters_json(*d.context))
      .json("threads", thread_count());
  const std::string expected = message("predicted", predicted.calibration.caveat());
  const auto row = [&](const std::string& what, const char* key, double measured, const char* predicted_key,
                       std::optional<double> prediction, std::string (*text)(double)) {
    passes.row()
        .cell("", what)
        .number(key, "measured", measured, text)
        .number(predicted_key, expected, prediction, text);
  };
  const auto count = [](double value) { return format("%.0f", value); };
  const auto ratio = [](double value) { return format("%.1f", value); };
  row("preparation, which encodes the weights", "seconds_preparation", session.seconds().server,
      "predicted_seconds_preparation", predicted.preparation, seconds_text);
  row("first pass", "seconds_first_pass", first, "predicted_seconds_first_pass", predicted.pass,
      seconds_text);
  row(message("warm pass, median of ", seconds.size()), "seconds", pass, "predicted_seconds", predicted.pass,
      seconds_text);
  const double transform = times_of(transforms).median;
  const auto in_transforms = [&](const std::string& what, const char* key, double measured) {
    row(what + " in transforms", key, measured / transform, "", {}, count);
  };
  row("a forward transform of a limb, one thread", "transform_seconds", transform, "", {},
      [](double value) { return format("%.4f ms", 1e3 * value); });
  in_transforms("first pass", "first_pass_transforms", first);
  in_transforms("warm pass", "transforms", pass);
  if (!bootstraps.empty()) {
    const double one = times_of(bootstraps).median, predicted_one = predicted.costs->bootstrap({}).seconds;
    row(message("a bootstrap of all complex slots, median of ", bootstraps.size()), "bootstrap_full_seconds",
        one, "predicted_bootstrap_full_seconds", predicted_one, seconds_text);
    row("ratio of warm pass to bootstrap", "ratio", pass / one, "predicted_ratio",
        predicted.pass / predicted_one, ratio);
    in_transforms("bootstrap", "bootstrap_transforms", one);
  }
  row("bootstraps in a pass", "bootstraps", d.plan.bootstraps, "", {}, count);
  row("memory at its peak", "peak_rss_bytes", static_cast<double>(peak_resident_bytes()),
      "predicted_peak_bytes", figures.predicted_bytes(), bytes_text);
  row("keys", "seconds_keygen", session.seconds().keygen, "", {}, seconds_text);
  times.json = head.object();
  const Json of_passes = passes.object();
  for (const auto& [key, value] : of_passes.object("passes"))
    if (!key.empty()) times.json[key] = value;
  times.json["versus_twin"] = c.json();
  times.json["seconds_of_passes"] = Json(Json::Array(seconds.begin(), seconds.end()));
  times.json["by_operation"] = operations.json();
  times.text = passes.table().text() + "\n" + operations.table().text() + "\n";
  if (!launches.empty()) {
    times.json["by_block_program"] = launches.json();
    times.text += launches.table().text() + "\n";
  }
  times.text += c.text(twin.predicted_std);
  return times;
}

}  // namespace psm::cmd
