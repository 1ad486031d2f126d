#include "nn/text/files/tokenizer_file.h"

#include <string_view>

#include "ckks/base/files/file.h"
#include "nn/text/bpe/bpe.h"
#include "nn/text/bpe/byte_bpe_files.h"
#include "nn/text/bpe/character_bpe_files.h"
#include "nn/text/bpe/llama2_files.h"

namespace psm::nn {
namespace {

std::shared_ptr<const Tokenizer> from_tokenizer_json(std::string_view text, const std::string& what) {
  const Json json = parse_tokenizer_json(text, what);
  const bool characters = has_byte_fallback(bpe_model(json, what), what);
  return std::make_shared<const Bpe>(
      characters ? character_spec_from_tokenizer_json(json, what) : spec_from_tokenizer_json(json, what),
      what);
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path, const std::string& merges_path) {
  const std::string file = read_file(path, kMaxTokenizerBytes);
  if (!merges_path.empty())
    return std::make_shared<const Bpe>(
        spec_from_gpt2_files(file, read_file(merges_path, kMaxTokenizerBytes), path), path);
  // A file of llama2.c begins with a length of four bytes, of which the last is 0.
  if (file.size() >= 4 && file[3] == '\0') return std::make_shared<const Bpe>(llama2_spec(file, path), path);
  return from_tokenizer_json(file, path);
}

std::string tokenizer_json_of(const Tokenizer& tokenizer) {
  const auto* bpe = dynamic_cast<const Bpe*>(&tokenizer);
  if (bpe != nullptr && bpe->spec().kind == BpeKind::kBytes) return tokenizer_json(bpe->spec(), 0);
  if (bpe != nullptr && bpe->spec().kind == BpeKind::kCharacters)
    return character_tokenizer_json(bpe->spec(), 0);
  return "";
}

}  // namespace psm::nn
