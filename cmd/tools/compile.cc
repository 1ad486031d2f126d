// The compiler as a command: a polynomial model becomes a program that a server runs without knowing models.
#include "cmd/compiler/compile.h"

#include <cstdio>
#include <filesystem>

#include "attention/files/checkpoint.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/memory.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/wire/key_file.h"
#include "cmd/compiler/shapes.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/reports/ranks_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

CompiledFor purpose_of(const std::string& name) {
  if (name == "pass") return CompiledFor::kPass;
  if (name == "text") return CompiledFor::kText;
  if (name == "encrypted-weights") return CompiledFor::kEncryptedWeights;
  throw Error(message("--for ", name, " is not offered; there are: pass, text, encrypted-weights"));
}

// What a shape would take on this machine, which is timed.
void dry_run(const attention::ModelConfig& config, const attention::PolynomialOptions& options,
             const ckks::Context& context, CompiledFor purpose, int prompts, const Command& flags,
             const RanksFlags& ranks, const std::string& name) {
  const attention::Packing packing =
      attention::make_packing(config, config.context, static_cast<size_t>(context.slots()), prompts);
  program::VerifiedProgram planned{plan_shape(config, packing, options, context, purpose),
                                   std::make_unique<const ckks::Context>(context.spec())};
  std::fprintf(stderr, "calibrating ...\n");
  const program::Calibration machine = program::calibrate(context);
  ckks::KeyRequest keys;
  for (const program::EntryPoint& entry : planned.file.entries) keys.merge(entry.keys);
  const ShownProgram shown(std::move(planned), name, &machine);
  const double key_bytes = static_cast<double>(wire::evaluation_keys_file_bytes(context, keys));
  double program_bytes = 0;  // the entry points of a text have layouts of their own
  for (const ShownEntry& entry : shown.entries)
    program_bytes += program::file_bytes(entry.point->plan.program);
  print(program_text(shown, false), "\n  in files: evaluation keys ", bytes_text(key_bytes),
        ", weights about ", bytes_text(program_bytes), "\n");
  Json json = program_json(shown, false);
  json["params"] = parameters_json(context);
  json["calibrated_while_busy"] = machine.busy;
  json["key_file_bytes"] = key_bytes;
  json["weight_file_bytes"] = program_bytes;
  const RanksReport on_ranks(shown, ranks, true);
  print(on_ranks.text);
  if (ranks.given()) json["ranks"] = on_ranks.json;
  flags.write_json(json);
}

int compile(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:compile -- (--model MODEL | --shape SHAPE) (--out NAME | --dry-run) [flags]",
      "Compiles a polynomial model: writes NAME.program, which is all that the server needs besides keys and "
      "ciphertexts, and NAME.client for the client. With --shape, a published shape with random weights, for "
      "timing; with --dry-run as well, what it would take on this machine, of any size, without weights.");
  const std::string& model_path = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const ShapeFlags shape(flags);
  const std::string& purpose = flags.text(
      "for", "pass",
      "what the program does: pass, whole passes (//cmd:infer); text, going on with a text (//cmd:generate); "
      "encrypted-weights, that with the weights as ciphertexts: they stand in NAME.client alone");
  const int64_t& prompts =
      flags.integer("prompts", 0, 0, 32768, "different prompts at once, at most; 0: as many as fit");
  const bool& paper = flags.truth(
      "paper", false, "--shape: the paper's polynomials, Goldschmidt's plain iterations (21 for 1/x)");
  const bool& dry =
      flags.truth("dry-run", false, "--shape: predict what the program takes, and write nothing");
  const std::string& out = flags.text("out", "", "name of the files to write, without .program and .client");
  const RingFlags ring(flags);
  const RanksFlags ranks(flags);
  flags.begin(argc, argv);
  if (flags.given("model") == flags.given("shape"))
    throw Error("exactly one of --model and --shape is needed");
  if (flags.given("model")) {
    shape.require_none();
    if (paper) throw Error("--paper is for --shape; //cmd:polynomialise -- --paper makes such a model");
    if (dry) throw Error("--dry-run is for --shape; //cmd:show says what a compiled model takes");
  }
  if (ranks.given() && !dry) throw Error("--ranks is for --dry-run; //cmd:show has it for a program");
  if (dry == flags.given("out")) throw Error("exactly one of --out and --dry-run is needed");
  const CompiledFor compiled_for = purpose_of(purpose);
  if (compiled_for != CompiledFor::kPass && flags.given("prompts"))
    throw Error("--prompts is for whole passes; a text is one sequence");

  const int together = compiled_for == CompiledFor::kPass ? static_cast<int>(prompts) : 1;
  const std::string path = resolve_user_path(out), file = path + ".program", client_file = path + ".client";
  const double start = seconds_now();
  const ckks::Context context(ring.spec());
  ring.require_security(context);
  attention::Checkpoint checkpoint;
  if (flags.given("model")) {
    checkpoint = attention::load_checkpoint(resolve_user_path(model_path), /*whole=*/false);
    require_disk(checkpoint.weights.config, path);
  } else {
    const attention::ModelConfig config = shape.config();
    if (compiled_for != CompiledFor::kPass) attention::require_decodable(config);
    const auto options = paper ? attention::paper_polynomials() : attention::PolynomialOptions{};
    if (dry) {
      dry_run(config, options, context, compiled_for, together, flags, ranks, shape.shape);
      return 0;
    }
    require_disk(config, path);
    checkpoint = random_model(config, 1, 1).checkpoint;
    checkpoint.polynomial = options;
  }
  const Notes notes = std::move(checkpoint.notes);
  const PackedModel model(std::move(checkpoint), context, together);
  { AtomicFile probe(client_file); }  // before the program takes an old one's place
  const Compiled made = compile_model(model, notes, context, compiled_for, path);
  if (!made.unpredicted.empty())
    std::fprintf(stderr, "warning: not all errors are predicted: %s\n", made.unpredicted.c_str());
  const program::ProgramFile& program = made.program;
  const double seconds = seconds_now() - start;
  const auto bytes = static_cast<double>(std::filesystem::file_size(file));
  print(context.describe(), "\n");
  for (const program::EntryPoint& entry : program.entries)
    print(entry.name, ": ", entry.plan.program.instructions.size(), " instructions, ", entry.plan.bootstraps,
          " bootstraps\n");
  print(program.constants->size(), " constants; compiled in ", seconds_text(seconds), " with ",
        bytes_text(static_cast<double>(peak_resident_bytes())), " of memory\n");
  const auto client_bytes = static_cast<double>(std::filesystem::file_size(client_file));
  print("wrote ", out, ".program (for the server, ", bytes_text(bytes), ") and ", out,
        ".client (for the client, ", bytes_text(client_bytes), ")\ndigest ",
        hex(program.digest.data(), program.digest.size()), "\n");
  flags.write_json(Json::Object{{"params", parameters_json(context)},
                                {"program_bytes", bytes},
                                {"client_bytes", client_bytes},
                                {"digest", hex(program.digest.data(), program.digest.size())},
                                {"about", program.about},
                                {"seconds", seconds},
                                {"peak_rss_bytes", peak_resident_bytes()}});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::compile, argc, argv); }
