// The tokenizer of llama2.c's files: SentencePiece's byte-pair encoding with a score for each token.
//
// A text gets one space in front and is cut into characters (UTF-8); a character that is no token becomes its
// bytes, tokens named "<0xNN>". Then, as long as two neighbours together are a token, the pair whose token
// has the highest score is merged, the leftmost of equals. Token 0 is unknown, 1 begins a text, 2 ends it: no
// text is encoded with one of them, and bytes are not merged.
//
// The file, little-endian (github.com/karpathy/llama2.c, tokenizer.py writes it and run.c reads it):
//
//     int32     the longest token's bytes
//     then for each token, to the end of the file: float32 score, int32 length, its bytes
//
// What is no valid UTF-8 is cut into bytes. A text of n bytes takes O(n log n) time and O(n) memory.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nn/text/tokenizer.h"

namespace psm::nn {

class Llama2Tokenizer final : public Tokenizer {
 public:
  // From the bytes of a file; `what` begins messages. Throws psm::Error on a file that is truncated or has
  // lengths beyond its own maximum or 4096, scores that are not finite, a text twice, or more than 2^20
  // tokens.
  Llama2Tokenizer(std::string_view file, const std::string& what);
  Llama2Tokenizer(const Llama2Tokenizer&) = delete;
  Llama2Tokenizer& operator=(const Llama2Tokenizer&) = delete;

  int vocab() const override { return static_cast<int>(tokens_.size()); }
  // Throws psm::Error if a byte has no token.
  std::vector<int> encode(std::string_view text) const override;
  // start() and end() stand for nothing; the space that encode() put in front is taken away.
  std::string decode(std::span<const int> tokens) const override;
  std::string bytes(int token) const override;
  std::optional<int> start() const override { return kStart; }
  std::optional<int> end() const override { return kEnd; }

  const std::string& file() const { return file_; }

 private:
  static constexpr int kStart = 1, kEnd = 2;
  struct Token {
    std::string text;  // as in the file: "<0x0A>" for a byte
    float score = 0;
    int rank = 0;   // how many scores are higher
    int byte = -1;  // that it stands for, if it does for one
  };
  const Token& token(int t) const { return tokens_[t]; }
  int find(std::string_view text) const;  // -1: no token
  void append_characters(std::string_view text, std::vector<int>& tokens) const;

  std::string file_;
  std::vector<Token> tokens_;
  std::unordered_map<std::string_view, int> index_;  // of the texts of tokens that stand for themselves
  std::array<int, 256> byte_token_;                  // -1: none
};

}  // namespace psm::nn
