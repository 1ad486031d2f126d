// A model's answers in words: the texts of tokens, so that decrypting needs no tokenizer.
#pragma once

#include <algorithm>
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
  std::vector<int> scored_positions(int length) const {
    if (of_classes()) return {0};
    std::vector<int> positions;
    for (int t = first; t < length; t += step) positions.push_back(t);
    return positions;
  }
  // A model may have more tokens than its tokenizer; their text is empty.
  std::string symbol(int token) const {
    return static_cast<size_t>(token) < symbols.size() ? symbols[static_cast<size_t>(token)] : "";
  }
  // A list of tokens that are not a text together, such as the predictions at all positions: words with spaces between
  // them, characters without, tokens of several bytes with bars. For a classifier, the classes.
  std::string list(std::span<const int> tokens) const {
    std::string text;
    if (of_classes()) {
      for (const int each : tokens) text += (text.empty() ? "class " : ", ") + std::to_string(each);
      return text;
    }
    const bool are_short = std::all_of(tokens.begin(), tokens.end(), [&](int token) {
      return static_cast<size_t>(token) < short_symbols.size() && short_symbols[static_cast<size_t>(token)];
    });
    const char* const between = words ? " " : are_short ? "" : "|";
    for (size_t i = 0; i < tokens.size(); ++i) text += (i == 0 ? "" : between) + symbol(tokens[i]);
    return text;
  }
};

}  // namespace psm::cmd
