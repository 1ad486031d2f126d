// The client decrypts the answers. What it prints is for the holder of the key.
#include <cstdio>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/secrecy.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/wire/client/secret_key_file.h"
#include "cmd/client/client_file.h"
#include "cmd/client/prompt_record.h"
#include "cmd/prompts/logits.h"
#include "cmd/protocol/group_files.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

// The prompts' lengths by group of the answers, from the record that //cmd:encrypt left.
std::vector<std::vector<int>> lengths_of(const std::string& path, const attention::ClientModel& model,
                                         size_t groups, const std::string& in) {
  if (!std::filesystem::exists(path)) {
    throw Error(message(in, " does not say how long its prompts were, and ", path,
                        ", which //cmd:encrypt left, is missing; bring it back"));
  }
  std::vector<std::vector<int>> lengths =
      PromptRecord::parse(read_file(path, kMaxRecordBytes), path, model.packing.prompts,
                          attention::longest_prompt(model.shape))
          .lengths;
  if (groups > lengths.size())
    throw Error(message(in, " answers ", groups, " groups of prompts, ", lengths.size(), " were asked"));
  if (groups < lengths.size()) {
    std::fprintf(
        stderr,
        "warning: %s answers the first %zu of %zu groups of prompts; its run did not come to its end\n",
        in.c_str(), groups, lengths.size());
    lengths.resize(groups);
  }
  return lengths;
}

// A text's embedding in short, and how near it is to the first prompt's.
std::string embedding_text(const std::vector<double>& embedding, const std::vector<double>& first) {
  return message(embedding[0], ", ", embedding[1], ", ... (", embedding.size(),
                 " numbers), cosine with prompt 0: ", cosine(embedding, first));
}

int decrypt(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:decrypt -- --client FILE --keys FOLDER --in FILE [flags]",
      "Decrypts the answers of //cmd:infer and prints the model's prediction at every scored position. What "
      "it prints must not be shown to others: it carries the error of the encryption, which depends on the "
      "key. //cmd:compare says how close the logits are to those of the program in the clear.");
  const std::string& client_path =
      flags.text("client", "", "the client's file (NAME.client of //cmd:compile)");
  const std::string& keys = flags.text("keys", "", "folder of the keys (from //cmd:keygen)");
  const std::string& in = flags.text("in", "", "encrypted answers (from //cmd:infer)");
  const std::string& logits_path = flags.output("logits", "file for all logits, for //cmd:compare");
  const FileRingFlags ring(flags);
  flags.begin(argc, argv, {"client", "keys", "in"});

  const KeyFiles files(resolve_user_path(keys));
  const ClientFile client = read_client_file(resolve_user_path(client_path), attention::ModelEnd::kOutputs);
  const Answers& answers = client.answers;
  const ckks::Context& context = *client.context;
  ring.require_security(context);
  const PlanEnds ends = client.ends(kPass);
  const double start = seconds_now();
  const ckks::SecretKey secret = wire::read_secret_key(files.secret, context);
  GroupFile<> file(in, context);
  if (file.reader.fingerprint() != secret.fingerprint())
    throw Error(message(in, " belongs to another key pair than ", keys));
  const size_t groups =
      require_groups(file.reader, file.note, ends, FileOf::kAnswers, context, in, client_path);
  const std::vector<std::vector<int>> all_lengths =
      lengths_of(files.prompts(file.note.request), client.model, groups, in);

  const ckks::Decryptor decryptor(secret);
  LogitRows logits;  // a row for each token of each prompt, or each prompt
  for (size_t group = 0; group < groups; ++group) {
    attention::SlotVectors outputs;
    for (const auto& [name, answer] : file.load(group)) outputs.emplace(name, decryptor.decrypt(answer));
    std::vector<std::vector<int>> prompts;  // the last step needs only how long they are
    for (const int length : all_lengths[group]) prompts.emplace_back(static_cast<size_t>(length), 0);
    append_logits(client.model, outputs, prompts, logits);
    for (auto& [name, slots] : outputs) secure_zero(slots.data(), slots.size() * sizeof slots[0]);
  }
  const double seconds = seconds_now() - start;

  Json::Array lines;
  print("answers, ",
        answers.embedding      ? "the embedding"
        : answers.of_classes() ? "the class"
                               : "a prediction for each scored position",
        " of each prompt:\n");
  size_t row = 0, number = 0;
  for (const auto& group : all_lengths) {
    for (const int length : group) {
      std::vector<int> predicted;
      for (const int t : answers.scored_positions(length)) predicted.push_back(argmax(logits[row + t]));
      const std::string line =
          answers.embedding ? embedding_text(logits[row], logits[0]) : answers.list(predicted);
      print("prompt ", number++, ": ", visible(line), "\n");
      lines.push_back(line);
      row += static_cast<size_t>(answers.rows(length));
    }
  }
  if (client.logit_error > 0)
    print("predicted standard deviation of a logit's error: ", format("%.2g", client.logit_error), "\n");
  if (!logits_path.empty()) write_logits(resolve_user_path(logits_path), client.program_id(), logits);
  print("Do not share decrypted values: they carry the error of the encryption (ckks/SECURITY.md).\n");
  flags.write_json(
      Json::Object{{"answers", std::move(lines)},
                   {"predicted_logit_std", client.logit_error > 0 ? Json(client.logit_error) : Json()},
                   {"seconds", seconds}});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::decrypt, argc, argv); }
