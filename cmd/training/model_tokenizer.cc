#include "cmd/training/model_tokenizer.h"

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "nn/text/bpe/tokenizer_file.h"
#include "train/data/documents.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxTextBytes = uint64_t{1} << 28;
}  // namespace

std::shared_ptr<const nn::Tokenizer> load_user_tokenizer(const std::string& tokenizer,
                                                         const std::string& merges) {
  return nn::load_tokenizer(resolve_user_path(tokenizer), merges.empty() ? "" : resolve_user_path(merges));
}

train::Batch read_documents(const std::string& path, const nn::Tokenizer& tokenizer,
                            const attention::ModelConfig& config) {
  return train::document_batch(train::encode_documents(read_file(path, kMaxTextBytes), tokenizer),
                               config.context);
}

}  // namespace psm::cmd
