#include "nn/text/files/tokenizer_file.h"

#include <string_view>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "nn/text/alphabet.h"
#include "nn/text/bpe/byte_bpe.h"
#include "nn/text/bpe/byte_bpe_files.h"
#include "nn/text/bpe/character_bpe.h"
#include "nn/text/files/llama2_tokenizer.h"
#include "nn/text/sentence_tokenizer.h"

namespace psm::nn {
namespace {

std::shared_ptr<const Tokenizer> from_tokenizer_json(std::string_view text, const std::string& what) {
  const Json json = parse_tokenizer_json(text, what);
  if (has_byte_fallback(bpe_model(json, what), what))
    return std::make_shared<const CharacterBpe>(character_spec_from_tokenizer_json(json, what), what);
  return std::make_shared<const ByteBpe>(spec_from_tokenizer_json(json, what), what);
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path, const std::string& merges_path) {
  const std::string file = read_file(path, kMaxTokenizerBytes);
  if (!merges_path.empty())
    return std::make_shared<const ByteBpe>(
        spec_from_gpt2_files(file, read_file(merges_path, kMaxTokenizerBytes), path), path);
  // A file of llama2.c begins with a length of four bytes, of which the last is 0.
  if (file.size() >= 4 && file[3] == '\0') return std::make_shared<const Llama2Tokenizer>(file, path);
  return from_tokenizer_json(file, path);
}

std::shared_ptr<const Tokenizer> tokenizer_from_string(const std::string& text, const std::string& what) {
  const size_t space = text.find(' ');
  const std::string_view all = text, kind = all.substr(0, space);
  const std::string_view body = space == std::string::npos ? "" : all.substr(space + 1);
  if (kind == "alphabet") return std::make_shared<const Alphabet>(Alphabet::from_digits(body, what));
  if (kind == "bpe") return from_tokenizer_json(body, what);
  if (kind == "llama2") {
    const auto file = from_hex(body);
    if (!file)
      throw Error(
          message(what, ": a llama2.c tokenizer is not pairs of hexadecimal digits; the file is damaged"));
    return std::make_shared<const Llama2Tokenizer>(*file, what);
  }
  if (kind == "sentences")
    return std::make_shared<const SentenceTokenizer>(
        SentenceTokenizer::from_string(body, what, [&](const std::string& base) {
          if (base.starts_with(kind))
            throw Error(message(what, ": sentences of sentences; the file is damaged"));
          return tokenizer_from_string(base, what);
        }));
  throw Error(message(what, " names no kind of tokenizer (alphabet, bpe, llama2 or sentences)"));
}

std::string tokenizer_json_of(const Tokenizer& tokenizer) {
  const std::string text = tokenizer.to_string(), kind = "bpe ";
  return text.starts_with(kind) ? text.substr(kind.size()) : "";
}

}  // namespace psm::nn
