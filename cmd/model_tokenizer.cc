#include "cmd/model_tokenizer.h"

#include "ckks/base/error.h"
#include "ckks/base/file.h"
#include "ckks/base/hex.h"
#include "nn/llama2_tokenizer.h"
#include "train/documents.h"

namespace psm {
namespace {

constexpr uint64_t kMaxTokenizerBytes = uint64_t{32} << 20;
constexpr uint64_t kMaxTextBytes = uint64_t{1} << 28;
constexpr const char* kNote = "tokenizer";
constexpr std::string_view kLlama2 = "llama2 ";  // how Llama2Tokenizer::to_string() begins

void require_fitting(const Tokenizer& tokenizer, const ModelConfig& config) {
  if (tokenizer.vocab() > config.vocab) {
    throw Error(message("the tokenizer has ", tokenizer.vocab(), " tokens and the model ", config.vocab,
                        "; give the tokenizer that belongs to the model"));
  }
}

}  // namespace

std::shared_ptr<const Tokenizer> read_tokenizer(const std::string& path) {
  return std::make_shared<const Llama2Tokenizer>(read_file(path, kMaxTokenizerBytes), path);
}

void keep_tokenizer(const Tokenizer& tokenizer, Checkpoint& checkpoint) {
  require_fitting(tokenizer, checkpoint.weights.config);
  checkpoint.notes[kNote] = tokenizer.to_string();
}

std::shared_ptr<const Tokenizer> tokenizer_of(const Checkpoint& checkpoint) {
  const auto note = checkpoint.notes.find(kNote);
  if (note == checkpoint.notes.end()) return nullptr;
  const char* what = "the checkpoint's note \"tokenizer\"";
  const std::string_view text = note->second;
  const auto file = text.starts_with(kLlama2) ? from_hex(text.substr(kLlama2.size())) : std::nullopt;
  if (!file) throw Error(message(what, " is none that is known; import the model again"));
  auto tokenizer = std::make_shared<const Llama2Tokenizer>(*file, what);
  require_fitting(*tokenizer, checkpoint.weights.config);
  return tokenizer;
}

Batch read_documents(const std::string& path, const Tokenizer& tokenizer, const ModelConfig& config) {
  return document_batch(encode_documents(read_file(path, kMaxTextBytes), tokenizer), config.context);
}

}  // namespace psm
