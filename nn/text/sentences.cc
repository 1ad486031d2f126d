#include "nn/text/sentences.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"

namespace psm::nn {

SentenceTokenizer::SentenceTokenizer(std::shared_ptr<const Tokenizer> base, std::vector<int> kept,
                                     const std::string& what)
    : base_(std::move(base)), kept_(std::move(kept)) {
  id_of_.assign(static_cast<size_t>(base_->vocab()), kUnknown);
  int last = -1;
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i] <= last || kept_[i] >= base_->vocab())
      throw Error(message(what, ": the kept tokens are not in rising order below ", base_->vocab(),
                          "; the file is damaged"));
    last = kept_[i];
    id_of_[last] = kFirstKept + static_cast<int>(i);
  }
}

std::vector<int> SentenceTokenizer::encode(std::string_view text) const {
  std::vector<int> tokens = base_->encode(" " + std::string(text));
  for (int& token : tokens) token = id_of_[token];
  return tokens;
}

std::string SentenceTokenizer::decode(std::span<const int> tokens) const {
  std::string text;
  for (const int token : tokens)
    if (token != kStart && token != kEnd) text += bytes(token);
  return text.starts_with(' ') ? text.substr(1) : text;
}

std::string SentenceTokenizer::bytes(int token) const {
  constexpr const char* kSpecial[] = {"<s>", "</s>", "<unk>"};
  return token < kFirstKept ? kSpecial[token] : base_->bytes(kept_[token - kFirstKept]);
}

bool encloses_texts(const Tokenizer& tokenizer) {
  return tokenizer.start().has_value() && tokenizer.end().has_value();
}

std::vector<int> sentence_tokens(const Tokenizer& tokenizer, std::string_view text, size_t longest) {
  if (!encloses_texts(tokenizer))
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
