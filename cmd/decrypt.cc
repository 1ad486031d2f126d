// The client decrypts the answers and, if it has the prompts at hand, compares them with the twin. What it
// prints is for the holder of the key.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/wire/ciphertext_file.h"
#include "ckks/wire/client/secret_key_file.h"
#include "cmd/client/client_file.h"
#include "cmd/client/prompt_record.h"
#include "cmd/client/twin_process.h"
#include "cmd/prompts/logits.h"
#include "cmd/prompts/prompts.h"
#include "cmd/protocol/ciphertext_note.h"
#include "cmd/protocol/key_files.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// The client's last step needs of a prompt only how long it is.
std::vector<std::vector<int>> placeholders(const std::vector<int>& lengths) {
  std::vector<std::vector<int>> prompts;
  for (const int length : lengths) prompts.emplace_back(static_cast<size_t>(length), 0);
  return prompts;
}

// The prompts' lengths by group of the answers: from the record that //cmd:encrypt left, or from the prompts
// themselves.
std::vector<std::vector<int>> lengths_of(const std::string& path, const attention::ClientModel& model,
                                         size_t groups, const std::vector<std::vector<int>>& prompts,
                                         const std::string& in) {
  const bool recorded = std::filesystem::exists(path);
  if (!recorded && prompts.empty()) {
    throw Error(message(in, " does not say how long its prompts were, and ", path,
                        ", which //cmd:encrypt left, is missing; "
                        "bring it back, or give the prompts again"));
  }
  PromptRecord record = PromptRecord::of(groups_of(prompts, model.packing.prompts));
  if (recorded) {
    const PromptRecord kept = PromptRecord::parse(read_file(path, kMaxRecordBytes), path,
                                                  model.packing.prompts, longest_prompt(model.config));
    if (!prompts.empty() && record.lengths != kept.lengths) {
      throw Error(message("these are not the prompts that ", in, " answers: other lengths"));
    }
    record = kept;
  }
  if (groups > record.lengths.size()) {
    throw Error(
        message(in, " answers ", groups, " groups of prompts, ", record.lengths.size(), " were asked"));
  }
  if (groups < record.lengths.size()) {
    std::fprintf(
        stderr,
        "warning: %s answers the first %zu of %zu groups of prompts; its run did not come to its end\n",
        in.c_str(), groups, record.lengths.size());
    record.lengths.resize(groups);
  }
  return record.lengths;
}

// Why the answers cannot be those of the prompts: an error so many times the predicted one is none of the
// encryption's. Empty if they can.
std::string unlikeness(const Comparison& c, double predicted_std) {
  constexpr double kFar = 100;
  const double measured = std::sqrt(c.mse);
  if (measured <= kFar * predicted_std) return {};
  return message("the answers are not those of these prompts: their logits are ", format("%.3g", measured),
                 " from the twin's where ", format("%.3g", predicted_std),
                 " is predicted; other prompts were encrypted, or in another order, or the server ran "
                 "something else");
}

// Logits of the twin on the prompts, and the predicted standard deviation of an encrypted one's error: the program is
// run once more with the error of every instruction injected, and this is the root mean square of the difference.
struct TwinLogits {
  LogitRows rows;
  double predicted_std = 0;
};
TwinLogits twin_logits(const std::string& program, const ClientFile& client,
                       const std::vector<std::vector<int>>& prompts) {
  TwinLogits twin;
  TwinProcess process(program, client.program_id());
  LogitRows noisy;
  for (const auto& group : groups_of(prompts, client.model.packing.prompts)) {
    const bool first = noisy.empty();  // one group tells the deviation
    const TwinProcess::Outputs outputs = process.run(
        {.entry = kPass,
         .noisy = first,
         .slots = attention::client_inputs(client.model, PromptExamples(client.model.config, group))});
    append_logits(client.model, outputs.clear, group, twin.rows);
    if (first) append_logits(client.model, outputs.noisy, group, noisy);
  }
  twin.predicted_std = rms_difference(noisy, twin.rows);
  return twin;
}

int decrypt(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:decrypt -- --client FILE --keys FOLDER --in FILE [flags]",
      "Decrypts the answers of //cmd:infer and prints the model's prediction at every scored position. Given "
      "the\n"
      "prompts again and --check, it also runs the program in the clear and prints how close the two are.\n"
      "What it prints must not be shown to others: it carries the error of the encryption, which depends on "
      "the\n"
      "key.");
  const std::string& client_path =
      flags.text("client", "", "the client's file (NAME.client of //cmd:compile)");
  const std::string& keys = flags.text("keys", "", "folder of the keys (from //cmd:keygen)");
  const std::string& in = flags.text("in", "", "encrypted answers (from //cmd:infer)");
  const std::string& check = flags.text(
      "check", "", "NAME.program: compare with what it makes of the prompts, which are given again");
  const PromptFlags prompt_flags(flags);
  const FileRingFlags ring(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  require_given(flags, {"client", "keys", "in"});
  if (!check.empty() && !prompt_flags.given())
    throw Error("--check compares with the program's own answers to the prompts; give them again");

  const KeyFiles files(resolve_user_path(keys));
  const ClientFile client = read_client_file(resolve_user_path(client_path));
  const attention::ModelConfig& config = client.model.config;
  const PromptCodec codec(config, client.notes);
  const std::shared_ptr<const ckks::Context> context =
      wire::read_context(files.secret, wire::FileKind::kSecretKey);
  ring.require_security(*context);
  const PlanEnds ends = client.ends(kPass);
  if (context->fingerprint() != ends.parameters)
    throw Error(
        message("the keys of ", keys, " have other parameters than ", client_path, "; make keys for it"));
  const double start = seconds_now();
  const ckks::SecretKey secret = wire::read_secret_key(files.secret, *context);
  wire::CiphertextReader file(resolve_user_path(in), *context, kMaxCiphertexts);
  const CiphertextNote note = CiphertextNote::parse(file.note(), in);
  const size_t groups = require_groups(file, note, ends, FileOf::kAnswers, *context, in, client_path);
  std::vector<std::vector<int>> prompts;
  if (prompt_flags.given()) prompts = prompt_flags.read(codec, longest_prompt(config));
  const std::vector<std::vector<int>> all_lengths =
      lengths_of(files.prompts(note.request), client.model, groups, prompts, in);

  const ckks::Encoder encoder(*context);
  const ckks::Decryptor decryptor(secret, encoder);
  LogitRows logits;  // a row for each token of each prompt, or each prompt
  size_t next = 0;
  for (const auto& lengths : all_lengths) {
    attention::SlotVectors outputs;
    for (const std::string& name : note.names) outputs.emplace(name, decryptor.decrypt(file.load(next++)));
    append_logits(client.model, outputs, placeholders(lengths), logits);
  }
  const double seconds = seconds_now() - start;

  Json json;
  std::printf("answers, %s of each prompt:\n",
              codec.is_classifier() ? "the class" : "a prediction for each scored position");
  size_t row = 0, number = 0;
  Json answers = Json::Array();
  for (const auto& group : all_lengths) {
    for (const int length : group) {
      std::vector<int> predicted;
      for (const int t : codec.scored_positions(length)) predicted.push_back(argmax(logits[row + t]));
      const std::string line = codec.list(predicted);
      std::printf("prompt %zu: %s\n", number++, line.c_str());
      answers.push_back(line);
      row += static_cast<size_t>(codec.rows(length));
    }
  }
  json["answers"] = std::move(answers);
  json["seconds"] = seconds;
  std::string failure;
  if (!check.empty()) {
    prompts.resize(number);  // those that were answered
    const TwinLogits twin = twin_logits(check, client, prompts);
    const Comparison c = compare_logits(scored_rows(codec, prompts, twin.rows),
                                        scored_rows(codec, prompts, logits), twin.predicted_std);
    std::printf("%s", c.text(twin.predicted_std).c_str());
    json["encrypted_vs_twin"] = c.json();
    failure = unlikeness(c, twin.predicted_std);
  }
  std::printf("Do not share decrypted values: they carry the error of the encryption (ckks/SECURITY.md).\n");
  common.write_json(json);
  if (!failure.empty()) throw Error(failure, Error::Kind::kFailed);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::decrypt(argc, argv); });
}
