// The client decrypts the answers and, if it has the prompts at hand, compares them with the twin. What it
// prints is for the holder of the key, unless --share hides the error.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/wire/ciphertext_file.h"
#include "ckks/wire/client/secret_key_file.h"
#include "cmd/deployment/client/client.h"
#include "cmd/deployment/client/prompt_record.h"
#include "cmd/deployment/client/sharing.h"
#include "cmd/deployment/comparison.h"
#include "cmd/deployment/prompts.h"
#include "cmd/deployment/twin_run.h"
#include "cmd/protocol/ciphertext_note.h"
#include "cmd/protocol/key_files.h"
#include "cmd/protocol/plan_ends.h"
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
std::vector<std::vector<int>> lengths_of(const std::string& path, const PackedModel& packed, size_t groups,
                                         const std::vector<std::vector<int>>& prompts,
                                         const std::string& in) {
  const bool recorded = std::filesystem::exists(path);
  if (!recorded && prompts.empty()) {
    throw Error(message(in, " does not say how long its prompts were, and ", path,
                        ", which //cmd:encrypt left, is missing; "
                        "bring it back, or give the prompts again"));
  }
  PromptRecord record = PromptRecord::of(groups_of(prompts, packed.packing.prompts));
  if (recorded) {
    const PromptRecord kept =
        PromptRecord::parse(read_file(path, kMaxRecordBytes), path, packed.packing.prompts,
                            longest_prompt(packed.model.weights.config));
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

// Fills in the figures, and `said`: what was done.
std::vector<std::vector<std::complex<double>>> decrypt_for_sharing(
    const Deployment& deployment, const KeyFiles& files, const ckks::SecretKey& secret,
    const ckks::Encoder& encoder, const ckks::SharingTerms& terms, const std::vector<std::string>& names,
    wire::CiphertextReader& file, Json& json, std::string& said) {
  const std::vector<OutputFlooding> floodings = plan_sharing(deployment, terms);
  std::vector<ckks::Ciphertext> answers;
  for (size_t i = 0; i < file.heads().size(); ++i) answers.push_back(file.load(i));
  SharingRecord record(files, secret.fingerprint().key);
  auto slots =
      share(ckks::SharingDecryptor(secret, encoder), record, terms.queries, names, answers, floodings);
  json["statistical_bits"] = terms.statistical_bits;
  json["limit"] = record.limit();
  json["shared"] = record.shared();
  json["outputs"] = Json::Array();
  for (const auto& [name, flooding] : floodings) {
    said += message(name, ": worst-case error 2^", format("%.1f", std::log2(flooding.error)),
                    ", noise of deviation 2^", format("%.1f", std::log2(flooding.deviation)),
                    " in every coefficient, ", format("%.1f", flooding.precision_bits), " bits left\n");
    Json output;
    output["name"] = name;
    output["worst_case_error"] = flooding.error;
    output["deviation"] = flooding.deviation;
    output["precision_bits"] = flooding.precision_bits;
    json["outputs"].push_back(std::move(output));
  }
  double variation = 0;
  for (const OutputFlooding& output : floodings)
    variation = std::max(variation, output.flooding.total_variation);
  json["total_variation"] = variation;
  said +=
      message(record.shared(), " of ", record.limit(), " ciphertexts shared under this key, hidden to ",
              terms.statistical_bits, " bits (Micciancio-Walter; total variation of\nall together at most 2^",
              format("%.1f", std::log2(variation)), ")\n");
  return slots;
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

int decrypt(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:decrypt -- --model MODEL --keys FOLDER --in FILE [flags]",
      "Decrypts the answers of //cmd:infer and prints the model's prediction at every scored position. Given "
      "the\n"
      "prompts again, it also runs the twin (the same program in the clear) and prints how close the two "
      "are.\n"
      "What it prints must not be shown to others: it carries the error of the encryption, which depends on "
      "the\n"
      "key. With --share that error is hidden under noise sized from its worst-case bound (128 bits as\n"
      "Micciancio and Walter count, total variation 2^-66.5), for a limited number of answers, which is kept "
      "beside the secret key; refused where fewer bits\n"
      "are left than --precision.");
  const std::string& model_path = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const std::string& keys = flags.text("keys", "", "folder of the keys (from //cmd:keygen)");
  const std::string& in = flags.text("in", "", "encrypted answers (from //cmd:infer)");
  const bool& sharing = flags.truth("share", false, "decrypt answers so that they may be shown to others");
  const int64_t& queries =
      flags.integer("queries", 0, 0, ckks::SharingTerms::kMaxQueries,
                    "with --share: ciphertexts that will ever be shared under this key, all runs together");
  const double& precision = flags.number(
      "precision", 0, -100, 50, "with --share: bits after the binary point that the answers must keep");
  const PromptFlags prompt_flags(flags);
  const FileRingFlags ring(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  require_given(flags, {"model", "keys", "in"});
  if (sharing) require_given(flags, {"queries", "precision"});
  if (!sharing && (flags.given("queries") || flags.given("precision"))) {
    throw Error("--queries and --precision are terms of sharing; add --share, or leave them out");
  }

  const KeyFiles files(resolve_user_path(keys));
  const attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(model_path));
  const PromptCodec codec(checkpoint);
  const std::shared_ptr<const ckks::Context> context =
      wire::read_context(files.secret, wire::FileKind::kSecretKey);
  ring.require_security(*context);
  const PackedModel packed(checkpoint, *context);
  const PlanEnds ends = PlanEnds::read(files, *context, packed.model_fingerprint, model_path);
  const double start = seconds_now();
  const ckks::SecretKey secret = wire::read_secret_key(files.secret, *context);
  wire::CiphertextReader file(resolve_user_path(in), *context, kMaxCiphertexts);
  const CiphertextNote note = CiphertextNote::parse(file.note(), in);
  const size_t groups = require_groups(file, note, ends, FileOf::kAnswers, *context, in, model_path);
  std::vector<std::vector<int>> prompts;
  if (prompt_flags.given()) prompts = prompt_flags.read(codec, longest_prompt(packed.model.weights.config));
  const std::vector<std::vector<int>> all_lengths =
      lengths_of(files.prompts(note.request), packed, groups, prompts, in);

  const ckks::Encoder encoder(*context);
  const ckks::Decryptor decryptor(secret, encoder);
  const ckks::SharingTerms terms{.queries = static_cast<uint64_t>(queries), .precision_bits = precision};
  Json json;
  std::vector<std::vector<std::complex<double>>> shared;
  std::string said;  // of sharing
  if (sharing) {
    const Deployment deployment(checkpoint, context);
    shared = decrypt_for_sharing(deployment, files, secret, encoder, terms, note.names, file, json["sharing"],
                                 said);
  }
  std::vector<std::vector<double>> logits;  // a row for each token of each prompt, or each prompt
  size_t next = 0;
  for (const auto& lengths : all_lengths) {
    attention::SlotVectors outputs;
    for (const std::string& name : note.names) {
      outputs.emplace(name, sharing ? std::move(shared[next]) : decryptor.decrypt(file.load(next)));
      ++next;
    }
    append_logits(packed, outputs, placeholders(lengths), logits);
  }
  const double seconds = seconds_now() - start;

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
  std::printf("%s", said.c_str());
  json["answers"] = std::move(answers);
  json["seconds"] = seconds;
  std::string failure;
  if (!prompts.empty()) {
    prompts.resize(number);  // those that were answered
    const TwinRun twin = run_twin_on(Deployment(checkpoint, context), prompts);
    const Comparison c =
        compare_logits(twin.scored(codec), scored_rows(codec, prompts, logits), twin.predicted_std);
    std::printf("%s", c.text(twin.predicted_std).c_str());
    json["encrypted_vs_twin"] = c.json();
    failure = unlikeness(c, twin.predicted_std);
  }
  if (!sharing) {
    std::printf(
        "Do not share decrypted values: they carry the error of the encryption (ckks/scheme/SECURITY.md; "
        "--share).\n");
  }
  common.write_json(json);
  if (!failure.empty()) throw Error(failure, Error::Kind::kFailed);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::decrypt(argc, argv); });
}
