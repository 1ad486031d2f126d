// The server: runs a model on ciphertexts with public keys only. It links no secret key.
#include <cstdio>
#include <memory>
#include <new>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/memory.h"
#include "ckks/base/progress.h"
#include "ckks/base/touched_memory.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/deployment/ciphertext_note.h"
#include "cmd/deployment/inference_state.h"
#include "cmd/deployment/plan_ends.h"
#include "cmd/deployment/run_figures.h"
#include "cmd/deployment/server.h"
#include "cmd/reports/ledger_report.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/device_flag.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// The answers of the groups that are finished.
void write_answers(const std::string& path, const ckks::Context& context, ckks::Fingerprint keys,
                   const CiphertextNote& note, const std::vector<InferenceState::Outputs>& groups) {
  wire::CiphertextWriter writer(path, context, keys, note.text());
  for (const auto& outputs : groups) {
    for (const std::string& name : note.names) writer.write(outputs.at(name));
  }
  writer.commit();
}

int infer(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:infer -- --model MODEL --keys FILE --in FILE --out FILE [flags]",
      "Runs a polynomial model on encrypted prompts. Needs the model and evaluation.keys; sees no "
      "secret key.\n"
      "With --state a run that was interrupted goes on from its last completed block. If a group of prompts\n"
      "cannot be run, the answers of those before it are written all the same.");
  const std::string& model_path = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const std::string& keys_path = flags.text("keys", "", "evaluation keys (evaluation.keys of //cmd:keygen)");
  const std::string& in = flags.text("in", "", "encrypted prompts (from //cmd:encrypt)");
  const std::string& out = flags.text("out", "", "file for the encrypted answers");
  const std::string& state_path =
      flags.text("state", "", "folder to save the run in after every block, and to resume it from");
  const LedgerFlag ledger_file(flags);
  const RingFlags ring(flags);
  const DeviceFlag device_flag(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ledger_file.apply();
  ring.apply();
  require_given(flags, {"model", "keys", "in", "out"});
  const std::unique_ptr<ckks::Device> device = device_flag.open();

  const double start = seconds_now();
  const std::string key_file = resolve_user_path(keys_path), in_file = resolve_user_path(in),
                    out_file = resolve_user_path(out);
  auto parameters = wire::read_context(key_file, wire::FileKind::kEvaluationKeys);
  ring.require_security(*parameters);
  const Deployment deployment(attention::load_checkpoint(resolve_user_path(model_path)),
                              std::move(parameters));
  const ckks::Context& context = *deployment.context;
  const PlanEnds ends = ends_of(deployment);

  // All that can be known to fail is refused before the keys are read.
  wire::CiphertextReader request(in_file, context, kMaxCiphertexts);
  const CiphertextNote note = CiphertextNote::parse(request.note(), in);
  const size_t groups =
      require_groups(request, note, ends.inputs, context, deployment.model_fingerprint, in, model_path);
  wire::EvaluationKeysReader key_reader(key_file, context);
  if (key_reader.fingerprint() != request.fingerprint()) {
    throw Error(message(in, " belongs to another key pair than ", keys_path));
  }
  // Beside what the machine holds: the inputs of the group that runs, and the answers of all.
  require_memory(deployment.server_bytes() + group_bytes(context, ends.inputs) +
                 groups * group_bytes(context, ends.outputs));
  DeviceFlag::require_room(device.get(), deployment.server_bytes());
  { AtomicFile probe(out_file); }
  InferenceState state(state_path.empty() ? "" : resolve_user_path(state_path), deployment, request, groups);

  RunFigures figures(deployment);
  auto memory = std::make_unique<TouchedMemory>(static_cast<size_t>(deployment.reading.run_bytes()));
  const ckks::EvaluationKeys keys = [&] {
    Progress progress("reading keys", 1);
    return key_reader.load(deployment.keys, [&](uint64_t done, uint64_t total) {
      progress.set(static_cast<double>(done) / static_cast<double>(total));
    });
  }();
  figures.touched(memory->finish());
  memory.reset();
  Server server(deployment, keys, device.get());
  const double loaded = seconds_now();

  const program::Plan& plan = deployment.plan;
  CiphertextNote answer = note;
  answer.names = names_of(ends.outputs);
  Progress progress("inferring", static_cast<double>(plan.program.instructions.size() * groups));
  const auto run_group = [&](size_t group) {
    program::RunOptions options;
    options.progress = [&](size_t done, size_t total) {
      progress.set(static_cast<double>(group * total + done));
    };
    state.watch(options);
    program::RunResult result;
    if (auto checkpoint = state.take_checkpoint()) {
      result = server.resume(std::move(*checkpoint), options);
    } else {
      std::map<std::string, ckks::Ciphertext> inputs;
      for (size_t i = 0; i < note.names.size(); ++i) {
        inputs.emplace(note.names[i], request.load(group * note.names.size() + i));
      }
      result = server.run(inputs, options);
      figures.add_pass(result);
    }
    state.finish_group(std::move(result.outputs));
  };
  for (size_t group = state.finished_groups(); group < groups; ++group) {
    // What is finished is kept, whatever the next group brings.
    const auto keep_and_stop = [&](const char* why, Error::Kind kind) {
      write_answers(out_file, context, request.fingerprint(), answer, state.answers());
      throw Error(message(why, "; ", out, " has the answers of the first ", group, " of ", groups,
                          " groups of prompts"),
                  kind);
    };
    try {
      run_group(group);
    } catch (const Error& error) {
      if (group == 0) throw;
      keep_and_stop(error.what(), error.kind());
    } catch (const std::bad_alloc&) {
      if (group == 0) throw;
      keep_and_stop("out of memory", Error::Kind::kFailed);
    }
  }
  const double inferred = seconds_now();
  write_answers(out_file, context, request.fingerprint(), answer, state.answers());
  state.remove();

  program::Ledger ledger(deployment.plan, deployment.context->scales());
  figures.predict_seconds();
  figures.fill(ledger);
  std::printf("%s\n%s", context.describe().c_str(), program::text(ledger.summary()).c_str());
  std::printf("%s of %s; read keys %s, inferred %s; wrote %s\n%s",
              groups == 1 ? "1 pass" : message(groups, " passes").c_str(),
              counted(static_cast<size_t>(plan.bootstraps), "bootstrap").c_str(),
              seconds_text(loaded - start).c_str(), seconds_text(inferred - loaded).c_str(), out.c_str(),
              figures.text().c_str());
  std::vector<std::string> facts = figures.lines();
  facts.insert(facts.begin(), context.describe());
  facts.push_back("seconds are of the last pass; ranges and errors are for the client to know");
  ledger_file.write({.title = "The ledger of an encrypted run, on the server",
                     .facts = std::move(facts),
                     .figures = figures.json(),
                     .ledger = ledger});
  Json json;
  json["params"] = parameters_json(context);
  json["bootstraps"] = plan.bootstraps;
  json["ledger"] = program::to_json(ledger.summary());
  json["predicted_and_measured"] = figures.json();
  json["seconds"]["read"] = loaded - start;
  json["seconds"]["infer"] = inferred - loaded;
  json["peak_rss_bytes"] = peak_resident_bytes();
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::cmd::infer(argc, argv); });
}
