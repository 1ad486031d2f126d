// What a model's answers are in words: all that decrypting takes of tokens, without a tokenizer.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace psm::cmd {

struct Answers {
  std::vector<std::string> symbols;  // of tokens, printable; none of a classifier
  std::vector<char> short_symbols;   // by token: its text is one byte at most
  bool words = false;                // tokens are words, with spaces between them
  int first = 0, step = 1;           // scored are positions first, first + step, ...

  bool of_classes() const { return symbols.empty(); }
  // Rows of logits of a prompt of this length, and those of them that are asked for.
  int rows(int length) const { return of_classes() ? 1 : length; }
  std::vector<int> scored_positions(int length) const;
  // A model may have more tokens than its tokenizer; they stand for nothing.
  std::string symbol(int token) const {
    return static_cast<size_t>(token) < symbols.size() ? symbols[static_cast<size_t>(token)] : "";
  }
  // Tokens that are no text together, such as a prediction at each position: words with spaces between them,
  // characters without, tokens of several bytes with bars. For a classifier, the classes.
  std::string list(std::span<const int> tokens) const;
};

}  // namespace psm::cmd
