#include "nn/text/files/tokenizer_file.h"

#include <charconv>
#include <string_view>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "nn/text/alphabet.h"
#include "nn/text/bpe/byte_bpe.h"
#include "nn/text/bpe/byte_bpe_files.h"
#include "nn/text/bpe/character_bpe_files.h"
#include "nn/text/bpe/llama2_tokenizer.h"
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

namespace {

std::vector<int> kept_of(std::string_view digits, const std::string& what) {
  std::vector<int> kept;
  while (!digits.empty()) {
    int token = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token);
    digits.remove_prefix(static_cast<size_t>(end - digits.data()));
    const bool more = digits.size() > 1 && digits[0] == ',';
    if (error != std::errc() || (!more && !digits.empty()))
      throw Error(message(what, ": the kept tokens are no numbers with commas; the file is damaged"));
    if (more) digits.remove_prefix(1);
    kept.push_back(token);
  }
  return kept;
}

}  // namespace

std::string tokenizer_json_of(const Tokenizer& tokenizer) {
  if (const auto* bytes = dynamic_cast<const ByteBpe*>(&tokenizer)) return tokenizer_json(bytes->spec(), 0);
  if (const auto* characters = dynamic_cast<const CharacterBpe*>(&tokenizer))
    return tokenizer_json(characters->spec(), 0);
  return "";
}

std::string to_string(const Tokenizer& tokenizer) {
  if (const auto* alphabet = dynamic_cast<const Alphabet*>(&tokenizer))
    return "alphabet " + hex(alphabet->all_bytes().data(), alphabet->all_bytes().size());
  if (const auto* llama2 = dynamic_cast<const Llama2Tokenizer*>(&tokenizer))
    return "llama2 " + hex(llama2->file().data(), llama2->file().size());
  if (const auto* sentences = dynamic_cast<const SentenceTokenizer*>(&tokenizer)) {
    std::string kept;
    for (const int token : sentences->kept()) kept += (kept.empty() ? "" : ",") + std::to_string(token);
    return "sentences " + kept + " " + to_string(sentences->base());
  }
  const std::string json = tokenizer_json_of(tokenizer);
  PSM_CHECK(!json.empty());
  return "bpe " + json;
}

std::shared_ptr<const Tokenizer> tokenizer_from_string(const std::string& text, const std::string& what) {
  const size_t space = text.find(' ');
  const std::string_view all = text, kind = all.substr(0, space);
  const std::string_view body = space == std::string::npos ? "" : all.substr(space + 1);
  if (kind == "alphabet") {
    const auto bytes = from_hex(body);
    if (!bytes)
      throw Error(message(what, ": the alphabet is not pairs of hexadecimal digits; the file is damaged"));
    return std::make_shared<const Alphabet>(Alphabet::of_bytes(*bytes, what));
  }
  if (kind == "bpe") return from_tokenizer_json(body, what);
  if (kind == "llama2") {
    const auto file = from_hex(body);
    if (!file)
      throw Error(
          message(what, ": a llama2.c tokenizer is not pairs of hexadecimal digits; the file is damaged"));
    return std::make_shared<const Llama2Tokenizer>(*file, what);
  }
  if (kind == "sentences") {
    const size_t end = body.find(' ');
    const std::string base(end == body.npos ? "" : body.substr(end + 1));
    if (base.starts_with(kind)) throw Error(message(what, ": sentences of sentences; the file is damaged"));
    return std::make_shared<const SentenceTokenizer>(tokenizer_from_string(base, what),
                                                     kept_of(body.substr(0, end), what), what);
  }
  throw Error(message(what, " names no kind of tokenizer (alphabet, bpe, llama2 or sentences)"));
}

}  // namespace psm::nn
