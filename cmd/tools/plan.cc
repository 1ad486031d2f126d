// What a model of a published shape would take encrypted, without weights and without running it: levels, key-switches,
// bootstraps, keys, memory, seconds by block. A model at hand is compiled, and //cmd:show says the same of its program.
#include <bit>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

#include "attention/encrypted/decode.h"
#include "attention/encrypted/encrypted_cache.h"
#include "attention/encrypted/encrypted_model.h"
#include "ckks/base/error.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/touched_memory.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/compiler/text_plans.h"
#include "cmd/deployment/published_shapes.h"
#include "cmd/protocol/new_ring_flags.h"
#include "cmd/server/planned_pass.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

std::string counts_text(const program::Counts& c) {
  return message(c.hoisted_key_switches, " hoisted, ", c.full_key_switches, " full, ", c.relinearisations,
                 " relinearisations, ", c.conjugations, " conjugations; ", c.plaintext_products,
                 " plaintext and ", c.ciphertext_products, " ciphertext products, ", c.rescales, " rescales");
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

// "12 ciphertexts at level 10, 138.41 MB"
std::string cache_text(const ckks::Context& context, const program::Plan& plan) {
  std::map<ckks::Level, size_t, std::greater<>> by_level;
  double bytes = 0;
  for (const auto& [name, level] : plan.budget.carried) {
    ++by_level[level];
    bytes += static_cast<double>(context.chain().ciphertext_bytes(level));
  }
  std::string text;
  for (const auto& [level, count] : by_level)
    text += message(counted(count, "ciphertext"), " at level ", int{level}, ", ");
  return text + bytes_text(bytes);
}

void line(const char* what, const std::string& text) { std::printf("  %-24s %s\n", what, text.c_str()); }

int plan_command(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:plan -- --shape SHAPE [--tokens T] [flags]",
      "Predicts what a whole encrypted model takes on this machine, before any key exists: levels,\n"
      "key-switches, bootstraps, rotation keys and their bytes, peak memory, seconds by block. Of a model at "
      "hand\n"
      "//cmd:show -- --calibrate says it, once //cmd:compile has compiled it.");
  const ShapeFlags shape(flags);
  const int64_t& prompts = flags.integer(
      "prompts", 0, 0, 32768,
      "different prompts at once; fewer than fit repeat, and may bootstrap sparsely; 0: as many as fit");
  const int64_t& position = flags.integer("position", -1, -1, 4095,
                                          "the one token at this position, keys and values of those before "
                                          "it being kept; -1: a whole pass");
  const bool& encrypted_weights =
      flags.truth("encrypted-weights", false, "--position: the weights are ciphertexts too");
  const bool& paper =
      flags.truth("paper", false, "the paper's polynomials, Goldschmidt's plain iterations (21 for 1/x)");
  const RingFlags ring(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  require_given(flags, {"shape"});
  const bool one_token = position >= 0;
  if (encrypted_weights && !one_token)
    throw Error("--encrypted-weights is for one token; give its --position as well");
  if (one_token && flags.given("prompts"))
    throw Error("--prompts is for a whole pass; keys and values are kept for one sequence");

  const ckks::Context context(ring.spec());
  ring.require_security(context);
  const attention::ModelConfig config = shape.config();
  const auto options = paper ? attention::paper_polynomials() : attention::PolynomialOptions{};
  const attention::Packing packing =
      attention::make_packing(config, config.context, static_cast<size_t>(context.slots()),
                              one_token ? 1 : static_cast<int>(prompts));
  program::Program program;
  std::set<std::string> weights;  // encrypted ones
  std::set<ckks::BootstrapKind> kinds{{}};
  if (one_token) {
    const attention::DecodeProgram decode = attention::build_decode_shape_program(
        config, packing, {}, options,
        encrypted_weights ? attention::Weights::kEncrypted : attention::Weights::kPlain);
    program = decode.at(static_cast<int>(position));
    kinds.insert({static_cast<size_t>(packing.features)});  // as //cmd:generate does
    for (const nn::WeightInput& weight : decode.weights) weights.insert(weight.name);
  } else {
    program = attention::build_shape_program(config, packing, {}, options);
  }
  kinds.insert({program::longest_refreshed(program)});
  kinds.merge(program::refreshed_blocks(program));
  const ckks::BootstrapPlans bootstraps = ckks::plan_bootstraps(context, kinds);
  const program::LevelBudget budget = program::budget_of(context);
  std::fprintf(stderr, "calibrating ...\n");
  const program::Calibration calibration = program::calibrate(context);
  const program::CostModel costs = program::costs_of(context, bootstraps, calibration.kernels);
  const program::Plan plan =
      one_token
          ? std::move(
                token_plans(program, attention::cache_names(packing, config.layers), budget, costs).front())
          : program::plan(program, budget, costs);
  const program::MeterReading reading = program::meter(plan, costs, 2, weights);

  std::printf("%s: %d layers, d = %d, %d heads, %d tokens", shape.published().what, config.layers,
              config.width, config.heads, config.context);
  if (const auto places = std::bit_ceil(static_cast<unsigned>(config.context));
      places != static_cast<unsigned>(config.context))
    std::printf(" in %u places, where as many tokens cost the same", places);
  std::printf("\n  %s\n  %s in %s of %d slots for the state\n", context.describe().c_str(),
              counted(static_cast<size_t>(packing.prompts), "prompt").c_str(),
              counted(static_cast<size_t>(packing.state_ciphertexts()), "ciphertext").c_str(),
              context.slots());
  line("key-switches", counts_text(reading.counts));
  line("inside bootstraps", counts_text(reading.bootstrap_counts));
  line("levels", message("inputs at level ", int{reading.input_level}, ", work at levels ",
                         int{reading.lowest_level}, " to ", int{reading.highest_level}));
  std::map<ckks::BootstrapKind, std::pair<int64_t, double>> refreshed;  // how many, and their seconds
  int64_t sparsely = 0;
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const program::Instruction& instruction = plan.program.instructions[i];
    if (instruction.opcode != program::Opcode::kBootstrap) continue;
    auto& [count, seconds] = refreshed[instruction.bootstrap];
    ++count, seconds += reading.instruction_seconds[i];
    sparsely += instruction.bootstrap.sparse();
  }
  for (const auto& [kind, of] : refreshed)
    line("bootstraps",
         message(of.first, " of ", kind.text(), ", each ",
                 seconds_text(of.second / static_cast<double>(of.first)), calibration.caveat()));
  if (one_token)
    line("keys and values kept",
         message("the token at position ", position, "; ", cache_text(context, plan)));
  double weight_bytes = 0, weight_file_bytes = 0;
  for (const PlanEnd& end : inputs_of(plan)) {
    if (!weights.contains(end.name)) continue;
    weight_bytes += static_cast<double>(context.chain().ciphertext_bytes(end.level));
    weight_file_bytes += static_cast<double>(wire::seeded_ciphertext_bytes(context, end.level));
  }
  if (encrypted_weights)
    line("encrypted weights",
         message(weights.size(), " ciphertexts, ", bytes_text(weight_bytes), " beside the memory below; ",
                 bytes_text(weight_file_bytes), " in a file with seeds"));
  line("rotation keys",
       message(reading.program_rotation_keys, " for the program (", bytes_text(reading.program_key_bytes),
               "), bootstrapping adds ", bytes_text(reading.bootstrap_key_bytes)));
  line("peak memory", memory_text(reading));
  line("time", message(seconds_text(reading.seconds), " predicted, ",
                       seconds_text(reading.seconds / packing.prompts), " a prompt", calibration.caveat()));
  const double encoding = program::encode_seconds_per_byte(context) * reading.plaintext_bytes,
               touching = touch_seconds_per_byte() * reading.run_bytes();
  line("the first pass", message(seconds_text(encoding), " more for encoding weights, and ",
                                 seconds_text(touching), " where its memory is new"));
  Table levels({"keys for level", "keys", "bytes"});
  for (const auto& [level, keys] : reading.keys_by_level)
    levels.row({std::to_string(level), std::to_string(keys.count), bytes_text(keys.bytes)});
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
