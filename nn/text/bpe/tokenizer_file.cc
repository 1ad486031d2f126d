#include "nn/text/bpe/tokenizer_file.h"

#include <filesystem>

#include "ckks/base/files/file.h"
#include "nn/text/bpe/bpe.h"
#include "nn/text/bpe/llama2_files.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::nn {
namespace {

BpeSpec vocabulary_spec(const std::string& file, const std::string& path) {
  const std::string config = std::filesystem::path(path).replace_filename("tokenizer_config.json");
  return spec_from_vocabulary(
      file, std::filesystem::exists(config) ? read_file(config, kMaxTokenizerBytes) : "", path);
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path, const std::string& merges_path) {
  const std::string file = read_file(path, kMaxTokenizerBytes);
  // A file of llama2.c begins with a length of four bytes, of which the last is 0.
  BpeSpec spec = !merges_path.empty()
                     ? spec_from_gpt2_files(file, read_file(merges_path, kMaxTokenizerBytes), path)
                 : path.ends_with(".txt")              ? vocabulary_spec(file, path)
                 : file.size() >= 4 && file[3] == '\0' ? llama2_spec(file, path)
                                                       : read_tokenizer_json(file, path);
  return std::make_shared<const Bpe>(std::move(spec), path);
}

std::string tokenizer_json_of(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const Bpe*>(&tokenizer);
  return bpe == nullptr ? "" : tokenizer_json(bpe->spec(), 0);
}

}  // namespace psm::nn
