// A model's answers in words: the texts of tokens, so that decrypting needs no tokenizer.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace psm::cmd {

struct Answers {
  std::vector<std::string> symbols;  // of tokens, printable; none of a classifier
  std::vector<char> short_symbols;   // by token: its text is one byte at most
  bool words = false;                // tokens are words, with spaces between them
  bool embedding = false;            // a classifier's logits are a text's embedding
  int first = 0, step = 1;           // scored are positions first, first + step, ...

  bool of_classes() const { return symbols.empty(); }
  // The number of rows of logits for a prompt of this length, and the scored ones.
  int rows(int length) const { return of_classes() ? 1 : length; }
  std::vector<int> scored_positions(int length) const;
  // A model may have more tokens than its tokenizer; their text is empty.
  std::string symbol(int token) const {
    return static_cast<size_t>(token) < symbols.size() ? symbols[static_cast<size_t>(token)] : "";
  }
  // A list of tokens that are not a text together, such as the predictions at all positions: words with spaces between
  // them, characters without, tokens of several bytes with bars. For a classifier, the classes.
  std::string list(std::span<const int> tokens) const;
};

}  // namespace psm::cmd
