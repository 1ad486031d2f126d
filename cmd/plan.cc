// Meters an encrypted model without running it: levels, key-switches, bootstraps, keys, memory, seconds by
// block.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <optional>
#include <set>
#include <utility>

#include "attention/encrypted/decode.h"
#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/touched_memory.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/compiler/compile.h"
#include "cmd/deployment/published_shapes.h"
#include "cmd/metering/metered.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/planned_pass.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

void print_counts(const char* what, const program::Counts& c) {
  std::printf(
      "  %-24s %lld hoisted, %lld full, %lld relinearisations, %lld conjugations; %lld plaintext and %lld "
      "ciphertext products, %lld rescales\n",
      what, static_cast<long long>(c.hoisted_key_switches), static_cast<long long>(c.full_key_switches),
      static_cast<long long>(c.relinearisations), static_cast<long long>(c.conjugations),
      static_cast<long long>(c.plaintext_products), static_cast<long long>(c.ciphertext_products),
      static_cast<long long>(c.rescales));
}

// The peak and what it is the sum of. Plaintexts are kept encoded for further passes up to a limit; beyond it
// those of an instruction are encoded when it is run, and the most of them and of ciphertexts at one time count.
std::string memory_text(const program::MeterReading& reading) {
  const std::string fixed =
      message(bytes_text(reading.peak_bytes()), ": keys ", bytes_text(reading.key_bytes()), ", the program ",
              bytes_text(reading.constant_bytes), ", bootstrap ", bytes_text(reading.bootstrap_bytes), ", ");
  const double running = reading.run_bytes() - reading.bootstrap_bytes;
  if (running == reading.peak_ciphertext_bytes + reading.plaintext_bytes)
    return message(fixed, "ciphertexts and scratch ", bytes_text(reading.peak_ciphertext_bytes), " (",
                   reading.peak_operation, "), encoded plaintexts ", bytes_text(reading.plaintext_bytes));
  return message(fixed, "ciphertexts, scratch and plaintexts of one instruction ",
                 bytes_text(reading.peak_working_bytes), ", plaintexts kept ",
                 bytes_text(reading.kept_plaintext_bytes()), " (of ", bytes_text(reading.plaintext_bytes),
                 " in all; the others are encoded anew in each pass)");
}

// A program with what Machine::meter asks for.
struct ToMeter {
  program::Program program;
  std::vector<std::string> caches;
  std::set<ckks::BootstrapKind> kinds;
};

int plan_command(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:plan -- (--shape SHAPE [--tokens T] | --model MODEL) [flags]",
      "Meters a whole encrypted model with this machine's calibration, before any key exists: levels,\n"
      "key-switches, bootstraps, rotation keys and their bytes, peak memory, seconds by block.");
  const std::string& shape_name = flags.text("shape", "", "a published shape: " + published_shape_names());
  const int64_t& tokens = flags.integer("tokens", 128, 2, 4096,
                                        "--shape: tokens of a sequence, which take places of a power of two; "
                                        "--model: cuts its context");
  const int64_t& prompts = flags.integer(
      "prompts", 0, 0, 32768,
      "different prompts at once; fewer than fit repeat, and may bootstrap sparsely; 0: as many as fit");
  const int64_t& position = flags.integer("position", -1, -1, 4095,
                                          "meter the one token at this position, keys and values of those "
                                          "before it being kept; -1: a whole pass");
  const bool& encrypted_weights =
      flags.truth("encrypted-weights", false, "--position: the weights are ciphertexts too");
  const std::string& model_path = flags.text("model", "", "a polynomial model (from //cmd:polynomialise)");
  const double& bootstrap_seconds = flags.number(
      "bootstrap-seconds", 0, 0, 1e6, "a measured time of one bootstrap; 0: predicted from the kernels");
  const bool& paper = flags.truth(
      "paper", false, "--shape: the paper's polynomials, Goldschmidt's plain iterations (21 for 1/x)");
  const RingFlags ring(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  if (paper && !flags.given("shape"))
    throw Error("--paper is for --shape; a model keeps how it was made polynomial");
  const bool one_token = position >= 0;
  const attention::Weights weights =
      encrypted_weights ? attention::Weights::kEncrypted : attention::Weights::kPlain;
  if (encrypted_weights && !one_token)
    throw Error("--encrypted-weights is for one token; give its --position as well");
  if (one_token && flags.given("prompts"))
    throw Error("--prompts is for a whole pass; keys and values are kept for one sequence");
  if (flags.given("shape") == flags.given("model"))
    throw Error("exactly one of --shape and --model is needed");

  const ckks::Context context(ring.spec());
  ring.require_security(context);
  const size_t slots = static_cast<size_t>(context.slots());
  const int at_once = one_token ? 1 : static_cast<int>(prompts);
  std::optional<attention::PolynomialModel> model;
  attention::ModelConfig config;
  std::string title;
  if (flags.given("shape")) {
    const PublishedShape& shape = published_shape(shape_name);
    const bool usual = shape.fixed_tokens > 0 && !flags.given("tokens");
    config = shape.config(usual ? shape.fixed_tokens : static_cast<int>(tokens));
    title = message(shape.what, ": ", config.layers, " layers, d = ", config.width, ", ", config.heads,
                    " heads, ", config.context, " tokens");
    if (const unsigned places = std::bit_ceil(static_cast<unsigned>(config.context));
        places != static_cast<unsigned>(config.context))
      title += message(" in ", places, " places, where as many tokens cost the same");
  } else {
    attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(model_path));
    if (flags.given("tokens")) attention::cut_context(checkpoint.weights, static_cast<int>(tokens));
    model = PackedModel(checkpoint, context).model;
    config = model->weights.config;
    title = model_path;
  }
  const auto options = paper ? attention::paper_polynomials() : attention::PolynomialOptions{};
  attention::Packing packing = attention::make_packing(config, config.context, slots, at_once);
  ToMeter alone;
  std::set<std::string> weight_names;  // encrypted ones
  double weight_bytes = 0;
  if (one_token) {
    const attention::DecodeProgram decode =
        model ? attention::build_decode_program(*model, packing, weights)
              : attention::build_decode_shape_program(config, packing, {}, options, weights);
    alone.program = decode.at(static_cast<int>(position));
    alone.kinds = {{static_cast<size_t>(packing.features)}};  // as //cmd:generate does
    alone.caches = attention::cache_names(packing, config.layers);
    for (const nn::WeightInput& weight : decode.weights) weight_names.insert(weight.name);
  } else {
    alone.program = model ? attention::build_program(*model, packing)
                          : attention::build_shape_program(config, packing, {}, options);
  }
  std::fprintf(stderr, "calibrating ...\n");
  const program::Calibration calibration = program::calibrate(context);
  const program::KernelSeconds& kernels = calibration.kernels;
  Machine machine{context, kernels, program::figures_of(ckks::BootstrapPlan(context), kernels)};
  if (bootstrap_seconds > 0) machine.bootstrap.seconds = bootstrap_seconds;
  const Metered metered = machine.meter(alone.program, alone.caches, alone.kinds, weight_names);
  const program::Plan& plan = metered.plan;
  const program::MeterReading& reading = metered.reading;

  std::printf("%s\n  %s\n  %s in %s of %d slots for the state\n", title.c_str(), context.describe().c_str(),
              counted(static_cast<size_t>(packing.prompts), "prompt").c_str(),
              counted(static_cast<size_t>(packing.state_ciphertexts()), "ciphertext").c_str(),
              context.slots());
  print_counts("key-switches", reading.counts);
  print_counts("inside bootstraps", reading.bootstrap_counts);
  std::printf("  %-24s %lld, each %s%s; inputs at level %d, work at levels %d to %d\n", "bootstraps",
              static_cast<long long>(reading.counts.bootstraps),
              seconds_text(machine.bootstrap.seconds).c_str(),
              bootstrap_seconds > 0 ? "" : calibration.caveat(), int{reading.input_level},
              int{reading.lowest_level}, int{reading.highest_level});
  int64_t sparsely = 0;
  for (const program::SparseFigures& of : metered.sparse) {
    const auto count =
        std::count_if(plan.program.instructions.begin(), plan.program.instructions.end(),
                      [&](const program::Instruction& i) {
                        return i.opcode == program::Opcode::kBootstrap && i.bootstrap == of.kind;
                      });
    if (count > 0)
      std::printf("  %-24s %lld of them, of %s, each %s\n", "sparse bootstraps",
                  static_cast<long long>(count), of.kind.text().c_str(),
                  seconds_text(of.figures.seconds).c_str());
    sparsely += count;
  }
  if (one_token) {
    std::printf("  %-24s the token at position %lld; %s\n", "keys and values kept",
                static_cast<long long>(position), cache_text(context, plan).c_str());
  }
  if (!weight_names.empty()) {
    double bytes = 0, file_bytes = 0;
    for (const PlanEnd& end : inputs_of(plan)) {
      if (!weight_names.contains(end.name)) continue;
      bytes += context.chain().ciphertext_bytes(end.level);
      file_bytes += static_cast<double>(wire::seeded_ciphertext_bytes(context, end.level));
    }
    std::printf("  %-24s %zu ciphertexts, %s beside the memory below; %s in a file with seeds\n",
                "encrypted weights", weight_names.size(), bytes_text(bytes).c_str(),
                bytes_text(file_bytes).c_str());
    weight_bytes = bytes;
  }
  std::printf("  %-24s %d for the program (%s), bootstrapping adds %s\n", "rotation keys",
              reading.program_rotation_keys, bytes_text(reading.program_key_bytes).c_str(),
              bytes_text(reading.bootstrap_key_bytes).c_str());
  std::printf("  %-24s %s\n", "peak memory", memory_text(reading).c_str());
  std::printf("  %-24s %s predicted, %s a prompt%s\n", "time", seconds_text(reading.seconds).c_str(),
              seconds_text(reading.seconds / packing.prompts).c_str(), calibration.caveat());
  const double encoding = program::encode_seconds_per_byte(context) * reading.plaintext_bytes,
               touching = touch_seconds_per_byte() * reading.run_bytes();
  std::printf("  %-24s %s more for encoding weights, and %s where its memory is new\n", "the first pass",
              seconds_text(encoding).c_str(), seconds_text(touching).c_str());
  Table levels({"keys for level", "keys", "bytes"});
  for (const auto& [level, keys] : reading.keys_by_level) {
    levels.row({std::to_string(level), std::to_string(keys.count), bytes_text(keys.bytes)});
  }
  Table blocks({"block", "instructions", "key-switches", "bootstraps", "seconds"});
  for (const program::BlockFigures& block : reading.blocks) {
    const program::Counts& c = block.counts;
    blocks.row(
        {block.block, std::to_string(block.instructions),
         std::to_string(c.hoisted_key_switches + c.full_key_switches + c.relinearisations + c.conjugations),
         std::to_string(c.bootstraps), format("%.2f", block.seconds)});
  }
  std::printf("%s%s", levels.text().c_str(), blocks.text().c_str());
  Json json = program::to_json(reading);
  json["params"] = parameters_json(context);
  json["prompts"] = packing.prompts;
  json["calibrated_while_busy"] = calibration.busy;
  json["encrypted_weight_bytes"] = weight_bytes;
  json["sparse_bootstraps"] = sparsely;
  json["first_pass"]["encode_seconds"] = encoding;
  json["first_pass"]["touch_seconds"] = touching;
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::cmd::plan_command(argc, argv); });
}
