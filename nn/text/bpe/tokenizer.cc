#include "nn/text/bpe/tokenizer.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"
#include "nn/text/bpe/bert_words.h"
#include "nn/text/unicode/unicode.h"

namespace psm::nn {
namespace {

constexpr size_t kMaxWords = size_t{1} << 20;  // kept in one call
constexpr int kLlama2End = 2;

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

uint64_t pair_key(int left, int right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

// The byte that a token's text names, "<0x0A>", as SentencePiece writes it; else -1.
int named_byte(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return -1;
  int byte = -1;
  const char* end = text.data() + 5;
  return std::from_chars(text.data() + 3, end, byte, 16).ptr == end ? byte : -1;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t next = std::min(text.find(from, at), text.size());
    out += text.substr(at, next - at);
    at = next;
    if (at == text.size()) break;
    out += to;
    at += from.size();
  }
  return out;
}

AddedTokens::Normalise normaliser(const BpeSpec& spec) {
  if (spec.kind == BpeKind::kBytes && spec.nfc) return to_nfc;
  if (spec.kind == BpeKind::kWordPiece)
    return [strips = spec.strips_accents, lower = spec.lower_case](std::string_view piece) {
      return bert_text(piece, strips, lower);
    };
  if (spec.kind != BpeKind::kCharacters || spec.prefix != SpacePrefix::kAlways) return nullptr;
  return [](std::string_view piece) {
    return piece.empty() ? std::string() : std::string(kMetaspace) + replaced(piece, " ", kMetaspace);
  };
}

// As long as two neighbours have a merge, the pair of least rank is merged, the leftmost of equals. With a list for the
// row and a heap for the candidates, n tokens take O(n log n). An object keeps its memory between calls.
class PairMerger {
 public:
  // find(left, right) -> Merge. It must depend on the two tokens alone.
  template <typename Find>
  void run(std::vector<int>& tokens, const Find& find) {
    const int count = static_cast<int>(tokens.size());
    row_.clear();
    heap_.clear();
    for (int i = 0; i < count; ++i) row_.push_back({tokens[i], i - 1, i + 1 < count ? i + 1 : -1});
    for (int i = 0; i + 1 < count; ++i) consider(i, find);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate best = heap_.back();
      heap_.pop_back();
      Node& left = node(best.at);
      // One of the two has meanwhile been merged with another.
      if (left.token != best.left || left.next < 0 || node(left.next).token != best.right) continue;
      Node& right = node(left.next);
      left.token = best.token;
      left.next = right.next;
      right.token = -1;
      if (left.next >= 0) node(left.next).previous = best.at;
      if (left.previous >= 0) consider(left.previous, find);
      if (left.next >= 0) consider(best.at, find);
    }
    size_t kept = 0;
    for (int i = 0; i >= 0 && i < count; i = node(i).next) tokens[kept++] = node(i).token;
    tokens.resize(kept);
  }

 private:
  struct Node {
    int token, previous, next;  // -1: merged away; no neighbour
  };
  struct Candidate {
    int rank, at;            // the left token's place in the row
    int left, right, token;  // what the two were, and what they become
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  Node& node(int i) { return row_[i]; }

  template <typename Find>
  void consider(int at, const Find& find) {
    const int left = node(at).token, right = node(node(at).next).token;
    const Merge merge = find(left, right);
    if (merge.token < 0) return;
    heap_.push_back({merge.rank, at, left, right, merge.token});
    std::push_heap(heap_.begin(), heap_.end());
  }

  std::vector<Node> row_;
  std::vector<Candidate> heap_;
};

}  // namespace

struct Tokenizer::Words {
  std::unordered_map<std::string, std::vector<int>, StringHash, std::equal_to<>> known;
  std::vector<int> row;
  PairMerger merger;
};

Tokenizer::Tokenizer(BpeSpec spec, const std::string& what)
    : spec_(std::move(spec)), added_(spec_.added, normaliser(spec_), spec_.tokens, what) {
  if (spec_.tokens.size() > kMaxTokens)
    throw Error(message(what, " has ids up to ", spec_.tokens.size() - 1, "; ", kMaxTokens - 1,
                        " is the largest that is read"));
  if (!is_utf8() && !spec_.added.empty())
    throw Error(message(what, ": a text of any bytes has no added tokens"));
  vocab_ = std::max(static_cast<int>(spec_.tokens.size()), added_.vocab());
  const auto exists = [&](int token) {
    return (token >= 0 && static_cast<size_t>(token) < spec_.tokens.size()) || added_.find(token);
  };
  for (const std::optional<int>& token : {spec_.ends.start, spec_.ends.end, spec_.unknown})
    if (token && !exists(*token))
      throw Error(message(what, ": it names token ", *token, ", which does not exist"));
  // Files name it by its text in the vocabulary.
  if (spec_.unknown && static_cast<size_t>(*spec_.unknown) >= spec_.tokens.size())
    throw Error(message(what, ": the unknown token, ", *spec_.unknown, ", is not in the vocabulary"));
  if (spec_.kind == BpeKind::kWordPiece && (!spec_.unknown || !spec_.merges.empty()))
    throw Error(what + " is WordPiece without an unknown token, or with merges");
  read_tokens(what);
  read_merges(what);
  if (spec_.kind == BpeKind::kLlama2 || !spec_.scores.empty()) read_scores(what);
  if (spec_.kept) read_kept(what);
}

void Tokenizer::read_tokens(const std::string& what) {
  byte_token_.fill(-1);
  for (int t = 0; t < static_cast<int>(spec_.tokens.size()); ++t) {
    const std::string& text = spec_.tokens[t];
    if (text.empty()) continue;
    const int byte = byte_of(t);
    if (byte < 0 && spec_.kind == BpeKind::kAlphabet)
      throw Error(message(what, ": token ", t, " of an alphabet is no byte"));
    if (byte >= 0) {
      if (byte_token_[byte] >= 0)
        throw Error(message(what, ": tokens ", byte_token_[byte], " and ", t, " are the same byte"));
      byte_token_[byte] = t;
    }
    if (spec_.kind == BpeKind::kLlama2 && (t <= kLlama2End || byte >= 0)) continue;
    const auto [other, fresh] = ids_.emplace(text, t);
    if (!fresh)
      throw Error(message(what, ": tokens ", other->second, " and ", t, " are both \"", visible(text), "\""));
  }
  // The others never stand in UTF-8, and vocabularies that were trained on it lack some of them.
  for (int byte = 0; spec_.kind == BpeKind::kBytes && byte < 0xF5; ++byte)
    if (byte_token_[byte] < 0 && byte != 0xC0 && byte != 0xC1)
      throw Error(message(what, " has no token for byte ", byte, "; it is no byte-level vocabulary"));
}

void Tokenizer::read_merges(const std::string& what) {
  const auto known = [&](int t) {
    return t >= 0 && t < static_cast<int>(spec_.tokens.size()) && !spec_.tokens[t].empty();
  };
  merges_.reserve(spec_.merges.size());
  for (size_t rank = 0; rank < spec_.merges.size(); ++rank) {
    const auto [left, right] = spec_.merges[rank];
    if (!known(left) || !known(right))
      throw Error(message(what, ": merge ", rank, " is of tokens that do not exist"));
    const std::string both = spec_.tokens[left] + spec_.tokens[right];
    const int merged = find(both);
    if (merged < 0)
      throw Error(message(what, ": merge ", rank, " makes \"", visible(both), "\", which is no token"));
    if (!merges_.emplace(pair_key(left, right), Merge{static_cast<int>(rank), merged}).second)
      throw Error(message(what, ": merge ", rank, " into \"", visible(both), "\" stands twice"));
  }
}

void Tokenizer::read_scores(const std::string& what) {
  std::vector<float> scores = spec_.scores;
  if (spec_.kind != BpeKind::kLlama2 || scores.size() != spec_.tokens.size() || vocab_ <= kLlama2End ||
      !spec_.merges.empty())
    throw Error(message(what, " has ", scores.size(), " scores for ", spec_.tokens.size(), " tokens"));
  for (size_t t = 0; t < scores.size(); ++t)
    if (!std::isfinite(scores[t])) throw Error(message(what, ": the score of token ", t, " is not finite"));
  std::sort(scores.begin(), scores.end(), std::greater<>());
  for (const float score : spec_.scores)
    ranks_.push_back(static_cast<int>(
        std::lower_bound(scores.begin(), scores.end(), score, std::greater<>()) - scores.begin()));
}

void Tokenizer::read_kept(const std::string& what) {
  kept_id_.assign(static_cast<size_t>(vocab_), KeptTokens::kUnknown);
  int last = -1, id = KeptTokens::kFirst;
  for (const int token : spec_.kept->ids) {
    if (token <= last || token >= vocab_)
      throw Error(
          message(what, ": the kept tokens are not in rising order below ", vocab_, "; the file is damaged"));
    kept_id_[token] = id++;
    last = token;
  }
}

int Tokenizer::byte_of(int token) const {
  const std::string& text = spec_.tokens[token];
  if ((spec_.kind == BpeKind::kLlama2 && token <= kLlama2End) || spec_.kind == BpeKind::kWordPiece) return -1;
  if (of_characters()) return named_byte(text);
  return text.size() == 1 ? static_cast<unsigned char>(text[0]) : -1;
}

int Tokenizer::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? -1 : found->second;
}

Merge Tokenizer::merge(int left, int right) const {
  if (spec_.kind != BpeKind::kLlama2) {
    const auto found = merges_.find(pair_key(left, right));
    return found == merges_.end() ? Merge{} : found->second;
  }
  if (byte_of(left) >= 0 || byte_of(right) >= 0) return {};
  const int merged = find(spec_.tokens[left] + spec_.tokens[right]);
  return merged < 0 ? Merge{} : Merge{ranks_[merged], merged};
}

template <typename Added, typename Word>
void Tokenizer::cut(std::string_view text, const Added& added, const Word& word) const {
  if (const size_t valid = is_utf8() ? utf8_valid_prefix(text) : text.size(); valid < text.size())
    throw Error(message("the text is not UTF-8 at byte ", valid, "; convert it"));
  added_.cut(text, added, [&](std::string_view piece, bool first) {
    if (spec_.kind == BpeKind::kWordPiece) return for_each_bert_word(piece, word);
    std::string spaced;
    if (spec_.kind == BpeKind::kCharacters) piece = spaced = replaced(piece, " ", kMetaspace);
    const bool wanted =
        spec_.prefix == SpacePrefix::kPieces || (spec_.prefix == SpacePrefix::kFirst && first);
    if ((wanted && !piece.starts_with(space())) || spec_.kind == BpeKind::kLlama2)
      piece = spaced = space() + std::string(piece);
    if (spec_.kind != BpeKind::kBytes) return word(piece);
    for_each_part(piece, spec_.single_digits, [&](std::string_view part) {
      for (size_t begin = 0; begin < part.size();) {
        const size_t end = word_end(part, begin, spec_.rule);
        word(part.substr(begin, end - begin));
        begin = end;
      }
    });
  });
}

void Tokenizer::append_pieces(std::string_view word, std::vector<int>& tokens) const {
  const size_t first = tokens.size();
  const auto starts = [](char byte) { return (byte & 0xC0) != 0x80; };
  bool known = static_cast<size_t>(std::count_if(word.begin(), word.end(), starts)) <= kLongestWord;
  for (size_t begin = 0; known && begin < word.size();) {
    const std::string rest = (begin > 0 ? kContinued : "") + std::string(word.substr(begin));
    const size_t sign = rest.size() - (word.size() - begin);
    size_t end = rest.size();
    int token = -1;
    while (end > sign && (token = find(std::string_view(rest).substr(0, end))) < 0) --end;
    known = token >= 0;
    tokens.push_back(token);
    begin += end - sign;
  }
  if (known) return;
  tokens.resize(first);
  tokens.push_back(*spec_.unknown);
}

void Tokenizer::append_characters(std::string_view word, std::vector<int>& tokens) const {
  // The library keeps an unknown token back until a character that is a token follows, or another unknown one
  // that is not counted with it: bytes come before it.
  bool unknown = false;
  const auto flush = [&] {
    if (unknown) tokens.push_back(*spec_.unknown);
    unknown = false;
  };
  const auto token_of = [&](char byte) { return byte_token_[static_cast<unsigned char>(byte)]; };
  for (size_t at = 0; at < word.size();) {
    const auto length = static_cast<size_t>(std::max(utf8_at(word, at).bytes, 1));
    const std::string_view character = word.substr(at, length);
    at += length;
    if (const int whole = of_characters() ? find(character) : -1; whole >= 0) {
      flush();
      tokens.push_back(whole);
    } else if (std::all_of(character.begin(), character.end(),
                           [&](char byte) { return token_of(byte) >= 0; })) {
      for (const char byte : character) tokens.push_back(token_of(byte));
    } else if (spec_.unknown) {
      if (!spec_.one_unknown) flush();
      unknown = true;
    } else {
      throw Error(message("the text has \"", visible(character),
                          "\", and the tokenizer no token for it; leave it out"));
    }
  }
  flush();
}

void Tokenizer::encode_word(std::string_view word, Words& words, std::vector<int>& tokens) const {
  if (const auto known = words.known.find(word); known != words.known.end()) {
    tokens.insert(tokens.end(), known->second.begin(), known->second.end());
    return;
  }
  words.row.clear();
  if (const int whole = spec_.whole_words ? find(word) : -1; whole >= 0) {
    tokens.push_back(whole);
    return;
  }
  spec_.kind == BpeKind::kWordPiece ? append_pieces(word, words.row) : append_characters(word, words.row);
  if (!merges_.empty() || !ranks_.empty())
    words.merger.run(words.row, [&](int left, int right) { return merge(left, right); });
  tokens.insert(tokens.end(), words.row.begin(), words.row.end());
  const bool repeats = spec_.kind == BpeKind::kBytes || spec_.kind == BpeKind::kWordPiece;
  if (repeats && words.known.size() < kMaxWords) words.known.emplace(word, words.row);
}

std::vector<int> Tokenizer::encode(std::string_view text) const {
  std::vector<int> tokens;
  Words words;
  std::string spaced;
  if (spec_.kept) text = spaced = " " + std::string(text);
  cut(
      text, [&](int token) { tokens.push_back(token); },
      [&](std::string_view word) { encode_word(word, words, tokens); });
  for (int& token : tokens) token = spec_.kept ? kept_id_[token] : token;
  return tokens;
}

void Tokenizer::for_each_word(std::string_view text, const VisitWord& visit) const {
  cut(
      text, [](int) {}, visit);
}

std::string Tokenizer::bytes(int token) const {
  PSM_CHECK(token >= 0 && token < vocab(), token);
  if (spec_.kept) {
    constexpr const char* kSpecial[] = {"<s>", "</s>", "<unk>"};
    if (token < KeptTokens::kFirst) return kSpecial[token];
    token = spec_.kept->ids[token - KeptTokens::kFirst];
  }
  if (const std::string* added = added_.find(token)) return *added;
  if (static_cast<size_t>(token) >= spec_.tokens.size()) return "";
  if (const int byte = byte_of(token); byte >= 0) return std::string(1, static_cast<char>(byte));
  const std::string& text = spec_.tokens[token];
  if (spec_.kind == BpeKind::kWordPiece) return text.starts_with(kContinued) ? text.substr(2) : " " + text;
  return spec_.kind == BpeKind::kCharacters ? replaced(text, kMetaspace, " ") : text;
}

std::string Tokenizer::decode(std::span<const int> tokens) const {
  std::string text;
  const bool hides_ends = spec_.kept || spec_.kind == BpeKind::kLlama2;
  for (const int token : tokens)
    if (!hides_ends || (token != start() && token != end())) text += bytes(token);
  const bool prefixed = spec_.kept || (of_characters() ? spec_.prefix != SpacePrefix::kNever
                                                       : spec_.kind == BpeKind::kWordPiece);
  if (prefixed && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

}  // namespace psm::nn
