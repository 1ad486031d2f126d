#include "nn/text/sentence_tokenizer.h"

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

}  // namespace psm::nn
