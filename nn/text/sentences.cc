#include "nn/text/sentences.h"

#include "ckks/base/error.h"

namespace psm::nn {

std::vector<int> sentence_tokens(const Tokenizer& tokenizer, std::string_view text, size_t longest) {
  if (!tokenizer.encloses_texts())
    throw Error(
        "the tokenizer does not say what stands before and behind a text, which an encoder needs; take one "
        "with <s> and </s>");
  const size_t tab = text.find('\t');
  std::vector<int> first = tokenizer.encode(text.substr(0, tab)), second;
  const bool is_pair = tab != text.npos;
  if (is_pair) {
    if (text.find('\t', tab + 1) != text.npos)
      throw Error("more than two texts with tabs between them; give one or two");
    second = tokenizer.encode(text.substr(tab + 1));
  }
  const size_t between = is_pair ? static_cast<size_t>(tokenizer.ends_between()) : 0, around = 2 + between;
  if (longest < around)
    throw Error(message("a context of ", longest, " tokens has no room for a text; give at least ", around));
  while (first.size() + second.size() > longest - around)
    (!is_pair || first.size() > second.size() ? first : second).pop_back();
  std::vector<int> tokens{*tokenizer.start()};
  tokens.insert(tokens.end(), first.begin(), first.end());
  tokens.insert(tokens.end(), between, *tokenizer.end());
  tokens.insert(tokens.end(), second.begin(), second.end());
  tokens.push_back(*tokenizer.end());
  return tokens;
}

}  // namespace psm::nn
