#include "cmd/generation/client/weight_encryption.h"

#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/progress.h"
#include "ckks/base/random/random.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/encoding/encoder.h"
#include "cmd/generation/text_ends.h"
#include "cmd/protocol/group_files.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxRecord = 4096;

struct WeightsOwner {
  static constexpr NoteKind kKind = NoteKind::kWeightsOwner;
  static constexpr const char* kWhat = "record of whose the encrypted weights are";

  uint64_t weights = 0, client = 0;  // their number, and the client file's
};

template <typename Tables>
void describe(Tables& t, WeightsOwner& owner) {
  t.number(owner.weights), t.number(owner.client);
}

}  // namespace

std::optional<uint64_t> encrypted_weights_in(const KeyFiles& files, const ckks::SecretKey& secret,
                                             const TextModel& model) {
  if (!std::filesystem::exists(files.weights)) return std::nullopt;
  const GroupFile<WeightNote> file(files.weights, secret.context(), kMaxWeights);
  if (file.reader.fingerprint() != secret.fingerprint())
    throw Error(message("the weights of ", files.weights,
                        " are under another key pair than the client's: who holds a key opens all that is "
                        "under it, so one party must own model and data; another party's model is not run"));
  const std::string what = files.weights_owner;
  if (!std::filesystem::exists(what))
    throw Error(message(what, " is missing: it says which model ", files.weights,
                        " is of; remove that file, and the weights are encrypted anew"));
  const auto owner = parse_note<WeightsOwner>(read_file(what, kMaxRecord), what);
  if (owner.weights != file.note.request || owner.client != model.file.id)
    throw Error(
        message(files.weights, " holds the weights of another model; give other --keys, or remove it"));
  return file.note.request;
}

WeightFigures encrypt_weights(const KeyFiles& files, const ckks::SecretKey& secret, const TextModel& model) {
  const double begin = seconds_now();
  const ckks::Context& context = secret.context();
  const ckks::Encoder encoder(context);
  ckks::SeededEncryptor encryptor(secret);
  const WeightNote note{{model.file.program_id(), fresh_identifier(), names_of(model.weights)}};
  wire::CiphertextWriter writer(files.weights, context, secret.fingerprint(), note_text(note));
  const size_t count = model.weights.size();
  Progress progress("encrypting weights", static_cast<double>(count));
  for (size_t i = 0; i < count; ++i) {
    const auto slots = model.file.weights[i].slots(static_cast<size_t>(context.slots()));
    writer.write(encryptor.encrypt(encoder.encode(slots, model.weights[i].level)));
    progress.set(static_cast<double>(i + 1));
  }
  write_file(files.weights_owner, note_text(WeightsOwner{note.request, model.file.id}),
             AtomicFile::Kind::kSecret);
  writer.commit();
  return {note.request, count, std::filesystem::file_size(files.weights), seconds_now() - begin};
}

}  // namespace psm::cmd
