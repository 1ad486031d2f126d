#include "cmd/deployment/model_tokenizer.h"

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "nn/text/files/tokenizer_file.h"
#include "train/data/documents.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{1} << 28;
constexpr const char *kNote = "tokenizer", *kAlphabetNote = "alphabet";

void require_fitting(const nn::Tokenizer& tokenizer, const attention::ModelConfig& config) {
  if (tokenizer.vocab() > config.vocab) {
    throw Error(message("the tokenizer has ", tokenizer.vocab(), " tokens and the model ", config.vocab,
                        "; give the tokenizer that belongs to the model"));
  }
}

}  // namespace

std::shared_ptr<const nn::Tokenizer> load_user_tokenizer(const std::string& tokenizer,
                                                         const std::string& merges) {
  return nn::load_tokenizer(resolve_user_path(tokenizer), merges.empty() ? "" : resolve_user_path(merges));
}

void keep_tokenizer(const nn::Tokenizer& tokenizer, attention::Checkpoint& checkpoint) {
  require_fitting(tokenizer, checkpoint.weights.config);
  checkpoint.notes[kNote] = tokenizer.to_string();
}

std::shared_ptr<const nn::Tokenizer> tokenizer_of(const attention::Checkpoint& checkpoint) {
  const auto note = checkpoint.notes.find(kNote), alphabet = checkpoint.notes.find(kAlphabetNote);
  std::shared_ptr<const nn::Tokenizer> tokenizer;
  if (note != checkpoint.notes.end()) {
    tokenizer = nn::tokenizer_from_string(note->second, "the checkpoint's note \"tokenizer\"");
  } else if (alphabet != checkpoint.notes.end()) {
    tokenizer =
        nn::tokenizer_from_string("alphabet " + alphabet->second, "the checkpoint's note \"alphabet\"");
  } else {
    return nullptr;
  }
  require_fitting(*tokenizer, checkpoint.weights.config);
  return tokenizer;
}

train::Batch read_documents(const std::string& path, const nn::Tokenizer& tokenizer,
                            const attention::ModelConfig& config) {
  return train::document_batch(train::encode_documents(read_file(path, kMaxTextBytes), tokenizer),
                               config.context);
}

}  // namespace psm::cmd
