// The client encrypts its prompts. Several share a ciphertext.
#include <cstdio>

#include "ckks/base/core_dumps.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/deployment/ciphertext_note.h"
#include "cmd/deployment/client/client.h"
#include "cmd/deployment/key_files.h"
#include "cmd/deployment/prompts.h"
#include "cmd/deployment/twin_run.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm {
namespace {

int encrypt(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:encrypt -- --model MODEL --keys FOLDER --out FILE (--prompt TEXT | --prompts FILE | "
      "--sample N)",
      "Encrypts prompts under the public key of the folder, for //cmd:infer. Prompts that a ciphertext has "
      "room\n"
      "for share it. Prompts that would leave the intervals of the model's polynomials are refused. A text "
      "model takes text; a recall model takes words such as: k3 v7 k0 v12 ... k3");
  const std::string& model_path = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const std::string& keys = flags.text("keys", "", "folder of the keys (from //cmd:keygen)");
  const std::string& out = flags.text("out", "", "file for the ciphertexts");
  const PromptFlags prompt_flags(flags);
  const RingFlags ring(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  require_given(flags, {"model", "keys", "out"});

  const KeyFiles files(resolve_user_path(keys));
  const Checkpoint checkpoint = load_checkpoint(resolve_user_path(model_path));
  const Deployment deployment(checkpoint, wire::read_context(files.public_key, wire::FileKind::kPublicKey));
  ring.require_security(*deployment.context);
  const PromptCodec codec(checkpoint);
  const std::vector<std::vector<int>> prompts = prompt_flags.read(codec);

  const size_t ciphertexts =
      groups_of(prompts, deployment.packing.prompts).size() * deployment.plan.program.inputs.size();
  if (ciphertexts > kMaxGroups) {
    throw Error(message(prompts.size(), " prompts fill ", ciphertexts, " ciphertexts, //cmd:infer takes ",
                        kMaxGroups, " a file; split them over several files"));
  }

  // The client can know now whether its prompts stay inside the model's intervals; the server never can.
  run_twin_on(deployment, prompts);

  const double start = seconds_now();
  const Encoder encoder(*deployment.context);
  const PublicKey public_key = wire::read_public_key(files.public_key, *deployment.context);
  Encryptor encryptor(*deployment.context, public_key);
  CiphertextNote note;
  note.model_fingerprint = deployment.model_fingerprint;
  wire::CiphertextFile file;
  file.fingerprint = public_key.fingerprint;
  for (const auto& group : groups_of(prompts, deployment.packing.prompts)) {
    const SlotVectors inputs = client_inputs(deployment.model, deployment.packing, group);
    auto encrypted = encrypt_inputs(deployment, encoder, encryptor, inputs);
    std::vector<int> lengths;
    for (const auto& p : group) lengths.push_back(static_cast<int>(p.size()));
    note.lengths.push_back(lengths);
    if (note.names.empty()) {
      for (const auto& [name, ciphertext] : encrypted) note.names.push_back(name);
    }
    for (auto& [name, ciphertext] : encrypted) file.ciphertexts.push_back(std::move(ciphertext));
  }
  file.note = note.text();
  wire::write_ciphertexts(resolve_user_path(out), *deployment.context, file);
  const double seconds = seconds_now() - start;
  std::printf("%s in %s, %s; wrote %s\n", counted(prompts.size(), "prompt").c_str(),
              counted(file.ciphertexts.size(), "ciphertext").c_str(), seconds_text(seconds).c_str(),
              out.c_str());
  Json json;
  json["prompts"] = prompts.size();
  json["ciphertexts"] = file.ciphertexts.size();
  json["seconds"] = seconds;
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] {
    psm::forbid_core_dumps();
    return psm::encrypt(argc, argv);
  });
}
