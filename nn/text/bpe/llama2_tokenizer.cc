#include "nn/text/bpe/llama2_tokenizer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"
#include "nn/text/bpe/pair_merger.h"

namespace psm::nn {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in the file");

constexpr size_t kMaxTokens = size_t{1} << 20;
constexpr int32_t kLongest = 1 << 12;  // bytes of a token

}  // namespace

Llama2Tokenizer::Llama2Tokenizer(std::string_view file, const std::string& what) : file_(file) {
  const auto refuse = [&](const auto&... why) {
    throw Error(message(what, " is no tokenizer of llama2.c: ", why...));
  };
  size_t at = 0;
  const auto read = [&](auto& value) {
    if (file.size() - at < sizeof value) refuse("it ends inside token ", tokens_.size());
    std::memcpy(&value, file.data() + at, sizeof value);
    at += sizeof value;
  };
  int32_t longest = 0;
  read(longest);
  if (longest < 1 || longest > kLongest)
    refuse("its longest token has ", longest, " bytes; 1 to ", kLongest, " are read");
  while (at < file.size()) {
    if (tokens_.size() == kMaxTokens) refuse("it has more than ", kMaxTokens, " tokens");
    Token token;
    int32_t length = 0;
    read(token.score);
    read(length);
    if (!std::isfinite(token.score)) refuse("the score of token ", tokens_.size(), " is not finite");
    if (length < 1 || length > longest)
      refuse("token ", tokens_.size(), " has ", length, " bytes; its header says 1 to ", longest);
    if (file.size() - at < static_cast<size_t>(length)) refuse("it ends inside token ", tokens_.size());
    token.text = file.substr(at, static_cast<size_t>(length));
    at += static_cast<size_t>(length);
    tokens_.push_back(std::move(token));
  }
  if (vocab() < 3) refuse("it has ", vocab(), " tokens; the first three are unknown, start and end");

  std::vector<float> scores;
  for (const Token& token : tokens_) scores.push_back(token.score);
  std::sort(scores.begin(), scores.end(), std::greater<>());
  byte_token_.fill(-1);
  for (int t = 0; t < vocab(); ++t) {
    Token& token = tokens_[t];
    token.rank = static_cast<int>(
        std::lower_bound(scores.begin(), scores.end(), token.score, std::greater<>()) - scores.begin());
    if (t <= kEnd) continue;
    token.byte = named_byte(token.text);
    if (token.byte >= 0) {
      if (byte_token_[token.byte] >= 0)
        refuse("tokens ", byte_token_[token.byte], " and ", t, " are the same byte");
      byte_token_[token.byte] = t;
    } else if (!index_.emplace(token.text, t).second) {
      refuse("tokens ", find(token.text), " and ", t, " are the same");
    }
  }
}

int Llama2Tokenizer::find(std::string_view text) const {
  const auto found = index_.find(text);
  return found == index_.end() ? -1 : found->second;
}

void Llama2Tokenizer::append_characters(std::string_view text, std::vector<int>& tokens) const {
  for (size_t at = 0; at < text.size();) {
    const auto length = static_cast<size_t>(std::max(utf8_at(text, at).bytes, 1));
    const int whole = find(text.substr(at, length));
    if (whole >= 0) tokens.push_back(whole);
    for (size_t i = at; whole < 0 && i < at + length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte_token_[byte] < 0)
        throw Error(message("the tokenizer has no token for byte ", static_cast<int>(byte), " of \"",
                            printable(text.substr(at, length)), "\"; leave it out"));
      tokens.push_back(byte_token_[byte]);
    }
    at += length;
  }
}

std::vector<int> Llama2Tokenizer::encode(std::string_view text) const {
  std::vector<int> tokens;
  if (text.empty()) return tokens;
  tokens.reserve(text.size() + 1);
  append_characters(" ", tokens);
  append_characters(text, tokens);
  std::string both;
  PairMerger().run(tokens, [&](int left, int right) {
    if (token(left).byte >= 0 || token(right).byte >= 0) return Merge{};
    both = token(left).text;
    both += token(right).text;
    const int merged = find(both);
    return merged < 0 ? Merge{} : Merge{token(merged).rank, merged};
  });
  return tokens;
}

std::string Llama2Tokenizer::bytes(int t) const {
  PSM_CHECK(t >= 0 && t < vocab(), t);
  const Token& found = token(t);
  return found.byte >= 0 ? std::string(1, static_cast<char>(found.byte)) : found.text;
}

std::string Llama2Tokenizer::decode(std::span<const int> tokens) const {
  std::string text;
  bool first = true;
  for (const int t : tokens) {
    if (t == kStart || t == kEnd) continue;
    const std::string piece = bytes(t);
    text += first && piece[0] == ' ' ? piece.substr(1) : piece;
    first = false;
  }
  return text;
}

}  // namespace psm::nn
