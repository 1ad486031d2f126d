// The client encrypts its prompts. Several share a ciphertext. Their lengths stay with the client.
#include <filesystem>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/interruption.h"
#include "ckks/base/random/random.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/wire/ciphertext_file.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/public_key_file.h"
#include "cmd/client/client_file.h"
#include "cmd/client/encoding.h"
#include "cmd/client/prompt_record.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/protocol/child_process.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

int encrypt(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:encrypt -- --client FILE --keys FOLDER --out FILE (--prompt TEXT | --prompts FILE | "
      "--sample N)",
      "Encrypts prompts with the keys of the folder, for //cmd:infer: under secret.key if it is there, else "
      "under public.key (twice the bytes, more error). Prompts that a ciphertext has room for share it. "
      "Their lengths stay in the folder, where //cmd:decrypt finds them. With --check, for the owner of the "
      "program, prompts that would leave the intervals of the model's polynomials are refused. A text model "
      "takes text; a recall model takes words such as: k3 v7 k0 v12 ... k3");
  const std::string& client_path =
      flags.text("client", "", "the client's file (NAME.client of //cmd:compile)");
  const std::string& keys = flags.text("keys", "", "folder of the keys (from //cmd:keygen)");
  const std::string& out = flags.output("out", "file for the ciphertexts");
  const std::string& check =
      flags.text("check", "", "NAME.program: run it in the clear on the prompts first");
  const PromptFlags prompt_flags(flags);
  const FileRingFlags ring(flags);
  flags.begin(argc, argv, {"client", "keys", "out"});

  const KeyFiles files(resolve_user_path(keys));
  const ClientFile client = read_client_file(resolve_user_path(client_path), attention::ModelEnd::kInputs);
  const PlanEnds ends = client.ends(kPass);
  const ckks::Context& context = *client.context;
  ring.require_security(context);
  // Under the secret key where it is at hand (half the bytes, less error), else under the public key.
  std::optional<ckks::SecretKey> secret;
  std::optional<ckks::SeededEncryptor> seeded;
  ckks::PublicKey public_key;
  std::optional<ckks::Encryptor> encryptor;
  if (std::filesystem::exists(files.secret)) {
    secret.emplace(wire::read_secret_key(files.secret, context));
    seeded.emplace(*secret);
  } else {
    public_key = wire::read_public_key(files.public_key, context);
    encryptor.emplace(context, public_key);
  }
  const attention::ClientShape& shape = client.model.shape;
  const PromptCodec codec = codec_of_form(client.prompts, shape, client_path);
  const std::vector<std::vector<int>> prompts = prompt_flags.read(codec, longest_prompt(shape));
  const auto groups = groups_of(prompts, client.model.packing.prompts);
  const size_t ciphertexts = groups.size() * ends.inputs.size();
  if (ciphertexts > kMaxCiphertexts) {
    throw Error(message(counted(prompts.size(), "prompt"), " fill ", ciphertexts,
                        " ciphertexts, //cmd:infer takes ", kMaxCiphertexts,
                        " a file; split them over several files, or give a smaller --sample"));
  }
  const double check_start = seconds_now();
  std::string checked;
  if (!check.empty()) {
    std::vector<std::string> words = prompt_flags.arguments();
    words.insert(words.begin(), {sibling_command("compare"), "--client=" + client_path, "--program=" + check,
                                 "--threads=" + std::to_string(flags.threads())});
    ChildProcess compare(words);
    checked = compare.output();
    if (const int code = compare.wait(); code != 0) return code;  // it has said why
  }

  const double start = seconds_now();
  const ckks::Encoder encoder(context);
  const CiphertextNote note{client.program_id(), fresh_identifier(), names_of(ends.inputs)};
  const std::string out_file = resolve_user_path(out);
  const InterruptionWatch watch;
  wire::CiphertextWriter writer(out_file, context, secret ? secret->fingerprint() : public_key.fingerprint,
                                note_text(note));
  PromptRecord record;
  for (const auto& group : groups) {
    std::vector<int>& lengths = record.lengths.emplace_back();
    for (const std::vector<int>& prompt : group) lengths.push_back(static_cast<int>(prompt.size()));
    const attention::SlotVectors inputs =
        attention::client_inputs(client.model, PromptExamples(shape, group));
    for (const ckks::Plaintext& plaintext : encode_inputs(encoder, ends.inputs, inputs)) {
      if (seeded)
        writer.write(seeded->encrypt(plaintext));
      else
        writer.write(encryptor->encrypt(plaintext));
    }
    stop_if_interrupted("nothing was written; run the same command again");
  }
  // First: //cmd:decrypt needs it.
  write_file(files.prompts(note.request), record.text(), AtomicFile::Kind::kSecret);
  writer.commit();
  const double seconds = seconds_now() - start;
  print(counted(prompts.size(), "prompt"), " in ", counted(ciphertexts, "ciphertext"), " (",
        bytes_text(static_cast<double>(std::filesystem::file_size(out_file))), "), ", seconds_text(seconds),
        "; wrote ", out, "\n");
  print(checked);
  flags.write_json(Json::Object{{"prompts", prompts.size()},
                                {"ciphertexts", ciphertexts},
                                {"seconds", seconds},
                                {"seconds_checking", start - check_start}});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::encrypt, argc, argv); }
