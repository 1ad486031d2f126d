#include "nn/text/byte_bpe.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_set>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"
#include "nn/text/byte_bpe_files.h"
#include "nn/text/byte_level.h"
#include "nn/text/unicode_class.h"
#include "nn/text/unicode_nfc.h"

namespace psm::nn {
namespace {

constexpr int kMaxTokens = 1 << 20;
constexpr size_t kMaxWords = size_t{1} << 20;  // kept in one call

uint64_t pair_key(int left, int right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

bool is_space(std::string_view text, size_t at) {
  return text_class(utf8_at(text, at).code) == TextClass::kSpace;
}

// The end of the white space that begins at `at`, and the begin of that which ends there.
size_t space_end(std::string_view text, size_t at) {
  while (at < text.size() && is_space(text, at)) at += static_cast<size_t>(utf8_at(text, at).bytes);
  return at;
}

size_t space_begin(std::string_view text, size_t at) {
  while (at > 0) {
    size_t character = at - 1;
    while (utf8_at(text, character).bytes == 0) --character;
    if (!is_space(text, character)) break;
    at = character;
  }
  return at;
}

}  // namespace

struct ByteBpe::Words {
  struct Range {
    size_t begin, count;  // in `tokens`
  };
  std::unordered_map<std::string, Range, StringHash, std::equal_to<>> ranges;
  std::vector<int> tokens, row;
  PairMerger merger;
};

ByteBpe::ByteBpe(ByteBpeSpec spec, const std::string& what) : spec_(std::move(spec)) {
  check_tokens(what);
  check_added(what);
  check_merges(what);
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

void ByteBpe::check_merges(const std::string& what) {
  std::unordered_map<std::string_view, int> index;
  for (int t = 0; t < static_cast<int>(spec_.tokens.size()); ++t) {
    const std::string& token = spec_.tokens[t];
    if (token.empty()) continue;
    const auto [other, fresh] = index.emplace(token, t);
    if (!fresh)
      throw Error(
          message(what, ": tokens ", other->second, " and ", t, " are both \"", printable(token), "\""));
  }
  const auto known = [&](int t) {
    return t >= 0 && t < static_cast<int>(spec_.tokens.size()) && !spec_.tokens[t].empty();
  };
  merges_.reserve(spec_.merges.size());
  std::string both;
  for (size_t rank = 0; rank < spec_.merges.size(); ++rank) {
    const auto [left, right] = spec_.merges[rank];
    if (!known(left) || !known(right))
      throw Error(message(what, ": merge ", rank, " is of tokens that do not exist"));
    both = spec_.tokens[left];
    both += spec_.tokens[right];
    const auto merged = index.find(both);
    if (merged == index.end())
      throw Error(message(what, ": merge ", rank, " makes \"", printable(both), "\", which is no token"));
    if (!merges_.emplace(pair_key(left, right), Merge{static_cast<int>(rank), merged->second}).second)
      throw Error(message(what, ": merge ", rank, " into \"", printable(both), "\" stands twice"));
  }
}

void ByteBpe::check_added(const std::string& what) {
  std::unordered_set<std::string_view> texts;
  for (size_t place = 0; place < spec_.added.size(); ++place) {
    AddedToken& added = spec_.added[place];
    const auto refuse = [&](const auto&... why) {
      throw Error(message(what, ": added token \"", printable(added.text), "\" ", why...));
    };
    if (added.text.empty() || utf8_valid_prefix(added.text) < added.text.size())
      refuse("is empty or no UTF-8");
    if (added.normalised && spec_.nfc) added.text = to_nfc(added.text);
    if (added.id < 0 || added.id >= kMaxTokens)
      refuse("has id ", added.id, "; 0 to ", kMaxTokens - 1, " are read");
    if (static_cast<size_t>(added.id) < spec_.tokens.size()) {
      const std::string& token = spec_.tokens[added.id];
      if (!token.empty() && token != added.text)
        refuse("has the id of \"", printable(token), "\", ", added.id);
    }
    if (!added_at_.emplace(added.id, place).second) refuse("has the id of another one, ", added.id);
    if (!texts.insert(added.text).second) refuse("stands twice");
    vocab_ = std::max(vocab_, added.id + 1);
    (added.normalised ? normalised_ : raw_)[static_cast<unsigned char>(added.text[0])].push_back(place);
  }
  for (AddedIndex* index : {&raw_, &normalised_})
    for (std::vector<size_t>& places : *index)
      std::sort(places.begin(), places.end(),
                [&](size_t a, size_t b) { return spec_.added[a].text.size() > spec_.added[b].text.size(); });
  for (const std::optional<int>& token : {spec_.start, spec_.end})
    if (token && (*token < 0 || *token >= vocab_))
      throw Error(message(what, ": a text begins or ends with token ", *token, ", which does not exist"));
}

template <typename Added, typename Other>
void ByteBpe::split(std::string_view text, const AddedIndex& index, const Added& added,
                    const Other& other) const {
  size_t begin = 0;  // of what has not been passed on
  for (size_t at = 0; at < text.size();) {
    const auto& places = index[static_cast<unsigned char>(text[at])];
    const auto found = std::find_if(places.begin(), places.end(), [&](size_t place) {
      return text.substr(at).starts_with(spec_.added[place].text);
    });
    if (found == places.end()) {
      ++at;
      continue;
    }
    const AddedToken& token = spec_.added[*found];
    const size_t left = token.strip_left ? std::max(begin, space_begin(text, at)) : at;
    at += token.text.size();
    if (begin < left) other(text.substr(begin, left - begin));
    added(token.id);
    // The search goes on behind the token itself, as the library's does: white space that the token took may
    // be an added token again.
    begin = token.strip_right ? space_end(text, at) : at;
  }
  if (begin < text.size()) other(text.substr(begin));
}

template <typename Added, typename Word>
void ByteBpe::cut(std::string_view text, const Added& added, const Word& word) const {
  if (const size_t valid = utf8_valid_prefix(text); valid < text.size())
    throw Error(message("the text is not UTF-8 at byte ", valid, "; convert it"));
  const auto words = [&](std::string_view plain) {
    for (size_t begin = 0; begin < plain.size();) {
      const size_t end = word_end(plain, begin);
      word(plain.substr(begin, end - begin));
      begin = end;
    }
  };
  split(text, raw_, added, [&](std::string_view piece) {
    std::string normal;
    if (spec_.nfc) piece = normal = to_nfc(piece);
    split(piece, normalised_, added, [&](std::string_view plain) {
      if (!spec_.prefix_space || plain.starts_with(' ')) return words(plain);
      words(std::string(" ").append(plain));
    });
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
  for (const char byte : word) words.row.push_back(byte_token_[static_cast<unsigned char>(byte)]);
  words.merger.run(words.row, [&](int left, int right) {
    const auto merge = merges_.find(pair_key(left, right));
    return merge == merges_.end() ? Merge{} : merge->second;
  });
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
  const auto added = added_at_.find(token);
  if (added != added_at_.end()) return spec_.added[added->second].text;
  return static_cast<size_t>(token) < spec_.tokens.size() ? spec_.tokens[token] : "";
}

std::string ByteBpe::decode(std::span<const int> tokens) const {
  std::string text;
  for (const int token : tokens) text += bytes(token);
  return text;
}

std::string ByteBpe::to_string() const { return "bpe " + tokenizer_json(spec_, 0); }

}  // namespace psm::nn
