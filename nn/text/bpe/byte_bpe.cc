#include "nn/text/bpe/byte_bpe.h"

#include <algorithm>
#include <functional>
#include <string>

#include "ckks/base/error.h"
#include "nn/text/bpe/byte_level.h"
#include "nn/text/unicode/unicode_nfc.h"

namespace psm::nn {
namespace {

constexpr size_t kMaxWords = size_t{1} << 20;  // kept in one call

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

}  // namespace

struct ByteBpe::Words {
  struct Range {
    size_t begin, count;  // in `tokens`
  };
  std::unordered_map<std::string, Range, StringHash, std::equal_to<>> ranges;
  std::vector<int> tokens, row;
  PairMerger merger;
};

ByteBpe::ByteBpe(ByteBpeSpec spec, const std::string& what)
    : spec_(std::move(spec)),
      added_(spec_.added, spec_.nfc ? AddedTokens::Normalise(to_nfc) : nullptr, what),
      merges_(spec_.tokens, spec_.merges, what) {
  check_tokens(what);
  check_added(what);
}

void ByteBpe::check_tokens(const std::string& what) {
  if (spec_.tokens.size() > kMaxTokens)
    throw Error(message(what, " has ids up to ", spec_.tokens.size() - 1, "; ", kMaxTokens - 1,
                        " is the largest that is read"));
  vocab_ = static_cast<int>(spec_.tokens.size());
  byte_token_.fill(-1);
  for (int t = 0; t < vocab_; ++t) {
    const std::string& token = spec_.tokens[t];
    if (token.size() == 1) byte_token_[static_cast<unsigned char>(token[0])] = t;
  }
  // The others never stand in UTF-8, and vocabularies that were trained on it lack some of them.
  for (int byte = 0; byte < 0xF5; ++byte)
    if (byte_token_[byte] < 0 && byte != 0xC0 && byte != 0xC1)
      throw Error(message(what, " has no token for byte ", byte, "; it is no byte-level vocabulary"));
}

void ByteBpe::check_added(const std::string& what) {
  added_.require_apart(spec_.tokens, what);
  vocab_ = std::max(vocab_, added_.vocab());
  for (const std::optional<int>& token : {spec_.ends.start, spec_.ends.end})
    if (token && (*token < 0 || *token >= vocab_))
      throw Error(message(what, ": a text begins or ends with token ", *token, ", which does not exist"));
}

template <typename Added, typename Word>
void ByteBpe::cut(std::string_view text, const Added& added, const Word& word) const {
  const auto words = [&](std::string_view plain) {
    for_each_part(plain, spec_.single_digits, [&](std::string_view part) {
      for (size_t begin = 0; begin < part.size();) {
        const size_t end = word_end(part, begin, spec_.rule);
        word(part.substr(begin, end - begin));
        begin = end;
      }
    });
  };
  added_.cut(text, added, [&](std::string_view plain, bool) {
    if (!spec_.prefix_space || plain.starts_with(' ')) return words(plain);
    words(std::string(" ").append(plain));
  });
}

void ByteBpe::encode_word(std::string_view word, Words& words, std::vector<int>& tokens) const {
  const auto known = words.ranges.find(word);
  if (known != words.ranges.end()) {
    const auto first = words.tokens.begin() + static_cast<std::ptrdiff_t>(known->second.begin);
    tokens.insert(tokens.end(), first, first + static_cast<std::ptrdiff_t>(known->second.count));
    return;
  }
  words.row.clear();
  if (const int whole = spec_.whole_words ? merges_.find(word) : -1; whole >= 0) {
    tokens.push_back(whole);
    return;
  }
  for (const char byte : word) words.row.push_back(byte_token_[static_cast<unsigned char>(byte)]);
  words.merger.run(words.row, [&](int left, int right) { return merges_.merge(left, right); });
  tokens.insert(tokens.end(), words.row.begin(), words.row.end());
  if (words.ranges.size() == kMaxWords) return;
  words.ranges.emplace(word, Words::Range{words.tokens.size(), words.row.size()});
  words.tokens.insert(words.tokens.end(), words.row.begin(), words.row.end());
}

std::vector<int> ByteBpe::encode(std::string_view text) const {
  std::vector<int> tokens;
  Words words;
  cut(
      text, [&](int token) { tokens.push_back(token); },
      [&](std::string_view word) { encode_word(word, words, tokens); });
  return tokens;
}

void ByteBpe::for_each_word(std::string_view text, const VisitWord& visit) const {
  cut(
      text, [](int) {}, visit);
}

std::string ByteBpe::bytes(int token) const {
  PSM_CHECK(token >= 0 && token < vocab_, token);
  if (const std::string* added = added_.find(token)) return *added;
  return static_cast<size_t>(token) < spec_.tokens.size() ? spec_.tokens[token] : "";
}

std::string ByteBpe::decode(std::span<const int> tokens) const {
  std::string text;
  for (const int token : tokens) text += bytes(token);
  return text;
}

}  // namespace psm::nn
