// The client decrypts the answers and, if it has the prompts at hand, compares them with the twin. What it prints is for
// the holder of the key, unless --share hides the error.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ckks/base/core_dumps.h"
#include "ckks/base/error.h"
#include "ckks/base/files/flags.h"
#include "ckks/wire/ciphertext_file.h"
#include "ckks/wire/client/secret_key_file.h"
#include "cmd/deployment/ciphertext_note.h"
#include "cmd/deployment/client/client.h"
#include "cmd/deployment/client/sharing.h"
#include "cmd/deployment/comparison.h"
#include "cmd/deployment/key_files.h"
#include "cmd/deployment/prompts.h"
#include "cmd/deployment/twin_run.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm {
namespace {

// The client's last step needs of a prompt only how long it is.
std::vector<std::vector<int>> placeholders(const std::vector<int>& lengths) {
  std::vector<std::vector<int>> prompts;
  for (const int length : lengths) prompts.emplace_back(static_cast<size_t>(length), 0);
  return prompts;
}

// Says what was done, and fills in the figures.
std::vector<std::vector<std::complex<double>>> decrypt_for_sharing(
    const Deployment& deployment, const KeyFiles& files, const SecretKey& secret, const Encoder& encoder,
    const SharingTerms& terms, const std::vector<Ciphertext>& answers, Json& json) {
  const std::vector<Flooding> floodings = plan_sharing(deployment, terms);
  SharingRecord record(files, secret.fingerprint().key);
  auto slots = share(SharingDecryptor(secret, encoder), record, terms.queries, answers, floodings);
  json["statistical_bits"] = terms.statistical_bits;
  json["limit"] = record.limit();
  json["shared"] = record.shared();
  json["outputs"] = Json::Array();
  for (size_t i = 0; i < floodings.size(); ++i) {
    const Flooding& flooding = floodings[i];
    const std::string& name = deployment.plan.program.outputs[i].name;
    std::printf(
        "%s: worst-case error 2^%.1f, noise of deviation 2^%.1f in every coefficient, %.1f bits left\n",
        name.c_str(), std::log2(flooding.error), std::log2(flooding.deviation), flooding.precision_bits);
    Json output;
    output["name"] = name;
    output["worst_case_error"] = flooding.error;
    output["deviation"] = flooding.deviation;
    output["precision_bits"] = flooding.precision_bits;
    json["outputs"].push_back(std::move(output));
  }
  double variation = 0;
  for (const Flooding& flooding : floodings) variation = std::max(variation, flooding.total_variation);
  json["total_variation"] = variation;
  std::printf(
      "%llu of %llu ciphertexts shared under this key, hidden to %d bits (Micciancio-Walter; total variation "
      "of\n"
      "all together at most 2^%.1f)\n",
      static_cast<unsigned long long>(record.shared()), static_cast<unsigned long long>(record.limit()),
      terms.statistical_bits, std::log2(variation));
  return slots;
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
      flags.integer("queries", 0, 0, SharingTerms::kMaxQueries,
                    "with --share: ciphertexts that will ever be shared under this key, all runs together");
  const double& precision = flags.number(
      "precision", 0, -100, 50, "with --share: bits after the binary point that the answers must keep");
  const PromptFlags prompt_flags(flags);
  const RingFlags ring(flags);
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
  const Checkpoint checkpoint = load_checkpoint(resolve_user_path(model_path));
  const PromptCodec codec(checkpoint);
  const Deployment deployment(checkpoint, wire::read_context(files.secret, wire::FileKind::kSecretKey));
  const Context& context = *deployment.context;
  ring.require_security(context);
  const double start = seconds_now();
  const SecretKey secret = wire::read_secret_key(files.secret, context);
  const std::string in_file = resolve_user_path(in);
  const wire::CiphertextFile file = wire::read_ciphertexts(in_file, context, kMaxGroups);
  const CiphertextNote note = CiphertextNote::parse(file.note, in, deployment.packing.prompts,
                                                    deployment.model.weights.config.context);
  if (note.model_fingerprint != deployment.model_fingerprint) {
    throw Error(message(in, " is the answer of another model than ", model_path));
  }
  if (note.ciphertexts() != file.ciphertexts.size()) {
    throw Error(
        message(in, " holds ", file.ciphertexts.size(), " ciphertexts, its note lists ", note.ciphertexts()));
  }
  std::vector<std::vector<int>> prompts;
  if (prompt_flags.given()) {
    prompts = prompt_flags.read(codec);
    std::vector<int> expected, lengths;
    for (const auto& prompt : prompts) lengths.push_back(static_cast<int>(prompt.size()));
    for (const auto& group : note.lengths) expected.insert(expected.end(), group.begin(), group.end());
    if (lengths != expected)
      throw Error(message("these are not the prompts that ", in, " answers: other lengths"));
  }

  const Encoder encoder(context);
  const SharingTerms terms{.queries = static_cast<uint64_t>(queries), .precision_bits = precision};
  Json json;
  std::vector<std::vector<std::complex<double>>> slots;
  if (sharing) {
    slots = decrypt_for_sharing(deployment, files, secret, encoder, terms, file.ciphertexts, json["sharing"]);
  } else {
    const Decryptor decryptor(secret, encoder);
    for (const Ciphertext& c : file.ciphertexts) slots.push_back(decryptor.decrypt(c));
  }
  std::vector<std::vector<double>> logits;  // a row for each token of each prompt
  size_t next = 0;
  for (const auto& lengths : note.lengths) {
    SlotVectors outputs;
    for (const std::string& name : note.names) outputs.emplace(name, std::move(slots[next++]));
    for (auto& prompt : client_logits(deployment.model, deployment.packing, outputs, placeholders(lengths))) {
      append_rows(prompt, deployment.model.weights.config.vocab, logits);
    }
  }
  const double seconds = seconds_now() - start;

  size_t row = 0, number = 0;
  Json answers = Json::Array();
  for (const auto& group : note.lengths) {
    for (const int length : group) {
      std::vector<int> predicted;
      for (const int t : codec.scored_positions(length))
        predicted.push_back(argmax(logits[row + static_cast<size_t>(t)]));
      const std::string line = codec.list(predicted);
      std::printf("prompt %zu: %s\n", number++, line.c_str());
      answers.push_back(line);
      row += static_cast<size_t>(length);
    }
  }
  json["answers"] = std::move(answers);
  json["seconds"] = seconds;
  if (!prompts.empty()) {
    const TwinRun twin = run_twin_on(deployment, prompts);
    const Comparison c =
        compare_logits(twin.scored(codec), scored_rows(codec, prompts, logits), twin.predicted_std);
    std::printf(
        "compared with the twin at %d positions: relative RMS error 2^%.1f, max |error| %.2g, same argmax in "
        "%s\n",
        c.positions, std::log2(c.relative_rms), c.max_abs, percent(c.agreement_all()).c_str());
    json["encrypted_vs_twin"] = c.json();
  }
  if (!sharing) {
    std::printf(
        "Do not share decrypted values: they carry the error of the encryption (see README, threat model; "
        "--share).\n");
  }
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] {
    psm::forbid_core_dumps();
    return psm::decrypt(argc, argv);
  });
}
