#include "cmd/generation/client/weight_encryption.h"

#include <filesystem>
#include <map>

#include "attention/encrypted/decode.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"
#include "ckks/base/progress.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/generation/weight_file.h"
#include "cmd/protocol/json_hex.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxRecord = 4096;

// A weight in all slots: it repeats with its period.
std::vector<ckks::Complex> slots_of(const ckks::Plain& weight, size_t slots) {
  std::vector<ckks::Complex> all(slots);
  for (size_t slot = 0; slot < slots; ++slot) all[slot] = weight.at(slot);
  return all;
}

}  // namespace

std::optional<uint64_t> encrypted_weights_in(const KeyFiles& files, const ckks::SecretKey& secret,
                                             uint64_t model_fingerprint) {
  if (!std::filesystem::exists(files.weights)) return std::nullopt;
  wire::CiphertextReader file(files.weights, secret.context(), kMaxWeights);
  const WeightNote note = WeightNote::parse(file.note(), files.weights);
  if (file.fingerprint() != secret.fingerprint())
    throw Error(
        message("the weights of ", files.weights,
                " are under another key pair than the client's: who holds a key opens all that is under it, "
                "so one party must own model and data; another party's model is not run"));
  const std::string what = files.weights_owner;
  if (!std::filesystem::exists(what))
    throw Error(message(what, " is missing: it says which model ", files.weights,
                        " is of; remove that file, and the weights are encrypted anew"));
  const Json json = parse_json(read_file(what, kMaxRecord), what + " (whose the encrypted weights are)");
  if (hex_member(json, "weights", what) != note.id || hex_member(json, "model", what) != model_fingerprint)
    throw Error(
        message(files.weights, " holds the weights of another model; give other --keys, or remove it"));
  return note.id;
}

WeightFigures encrypt_weights(const KeyFiles& files, const ckks::SecretKey& secret,
                              const GenerationDeployment& deployment) {
  const double begin = seconds_now();
  const ckks::Context& context = secret.context();
  const ckks::Encoder encoder(context);
  ckks::SeededEncryptor encryptor(secret);
  const std::vector<PlanEnd> ends = deployment.weights();
  std::map<std::string, ckks::Plain> weights;
  for (nn::WeightInput& input :
       attention::build_decode_program(deployment.model, deployment.packing, attention::Weights::kEncrypted)
           .weights)
    weights.emplace(std::move(input.name), std::move(input.weight));
  Json record;
  record["weights"] = hex(deployment.model_id);
  record["model"] = hex(deployment.model_fingerprint);
  AtomicFile owner(files.weights_owner, AtomicFile::Kind::kSecret);
  owner.write(record.dump());
  const WeightNote note{deployment.model_id, attention::outline_of(deployment.model), names_of(ends)};
  wire::CiphertextWriter writer(files.weights, context, secret.fingerprint(), note.text());
  Progress progress("encrypting weights", static_cast<double>(ends.size()));
  for (size_t i = 0; i < ends.size(); ++i) {
    const std::vector<ckks::Complex> slots =
        slots_of(weights.at(ends[i].name), static_cast<size_t>(context.slots()));
    writer.write(encryptor.encrypt(encoder.encode(slots, ends[i].level)));
    progress.set(static_cast<double>(i + 1));
  }
  owner.commit();
  writer.commit();
  return {ends.size(), std::filesystem::file_size(files.weights), seconds_now() - begin};
}

}  // namespace psm::cmd
