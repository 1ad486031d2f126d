#include "nn/text/bpe/character_bpe.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"

namespace psm::nn {
namespace {

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

}  // namespace

CharacterBpe::CharacterBpe(CharacterBpeSpec spec, const std::string& what)
    : spec_(std::move(spec)),
      added_(spec_.added,
             spec_.prefix == SpacePrefix::kAlways ? AddedTokens::Normalise([](std::string_view piece) {
               return piece.empty() ? std::string()
                                    : std::string(kMetaspace) + replaced(piece, " ", kMetaspace);
             })
                                                  : nullptr,
             what),
      merges_(spec_.tokens, spec_.merges, what) {
  vocab_ = std::max(static_cast<int>(spec_.tokens.size()), added_.vocab());
  byte_token_.fill(-1);
  byte_of_.assign(static_cast<size_t>(vocab_), -1);
  for (int t = 0; t < static_cast<int>(spec_.tokens.size()); ++t) {
    const int byte = named_byte(spec_.tokens[t]);
    byte_of_[t] = byte;
    if (byte >= 0) byte_token_[byte] = t;
  }
  added_.require_apart(spec_.tokens, what);
  for (const std::optional<int>& token : {spec_.ends.start, spec_.ends.end, spec_.unknown})
    if (token && (*token < 0 || *token >= vocab_))
      throw Error(message(what, ": it names token ", *token, ", which does not exist"));
  // Files name it by its text in the vocabulary.
  if (spec_.unknown && static_cast<size_t>(*spec_.unknown) >= spec_.tokens.size())
    throw Error(message(what, ": the unknown token, ", *spec_.unknown, ", is not in the vocabulary"));
}

void CharacterBpe::append_characters(std::string_view text, std::vector<int>& tokens) const {
  // The library keeps an unknown token back until a character that is a token follows, or another unknown one
  // that is not counted with it: bytes come before it.
  bool unknown = false;
  const auto flush = [&] {
    if (unknown) tokens.push_back(*spec_.unknown);
    unknown = false;
  };
  for (size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, static_cast<size_t>(utf8_at(text, at).bytes));
    at += character.size();
    if (const int whole = merges_.find(character); whole >= 0) {
      flush();
      tokens.push_back(whole);
      continue;
    }
    const auto token_of = [&](char byte) { return byte_token_[static_cast<unsigned char>(byte)]; };
    if (std::all_of(character.begin(), character.end(), [&](char byte) { return token_of(byte) >= 0; })) {
      for (const char byte : character) tokens.push_back(token_of(byte));
      continue;
    }
    if (!spec_.unknown)
      throw Error(message("the tokenizer has no token for \"", printable(character), "\"; leave it out"));
    if (!spec_.one_unknown) flush();
    unknown = true;
  }
  flush();
}

std::vector<int> CharacterBpe::encode(std::string_view text) const {
  std::vector<int> tokens, row;
  PairMerger merger;
  added_.cut(
      text, [&](int token) { tokens.push_back(token); },
      [&](std::string_view piece, bool first) {
        std::string spaced =
            spec_.prefix == SpacePrefix::kAlways ? std::string(piece) : replaced(piece, " ", kMetaspace);
        const bool wanted =
            spec_.prefix == SpacePrefix::kPieces || (spec_.prefix == SpacePrefix::kFirst && first);
        if (wanted && !spaced.starts_with(kMetaspace)) spaced.insert(0, kMetaspace);
        row.clear();
        append_characters(spaced, row);
        merger.run(row, [&](int left, int right) { return merges_.merge(left, right); });
        tokens.insert(tokens.end(), row.begin(), row.end());
      });
  return tokens;
}

std::string CharacterBpe::bytes(int token) const {
  PSM_CHECK(token >= 0 && token < vocab_, token);
  if (const std::string* added = added_.find(token)) return *added;
  if (byte_of_[token] >= 0) return std::string(1, static_cast<char>(byte_of_[token]));
  if (static_cast<size_t>(token) >= spec_.tokens.size()) return "";
  return replaced(spec_.tokens[token], kMetaspace, " ");
}

std::string CharacterBpe::decode(std::span<const int> tokens) const {
  std::string text;
  for (const int token : tokens) text += bytes(token);
  if (spec_.prefix != SpacePrefix::kNever && text.starts_with(' ')) text.erase(0, 1);
  return text;
}

}  // namespace psm::nn
