#include "nn/text/bpe/alphabet.h"

#include <set>

namespace psm::nn {

std::shared_ptr<const Tokenizer> alphabet_of(std::string_view text) {
  BpeSpec spec;
  spec.kind = BpeKind::kAlphabet;
  for (const unsigned char byte : std::set<unsigned char>(text.begin(), text.end()))
    spec.tokens.emplace_back(1, static_cast<char>(byte));
  return std::make_shared<const Tokenizer>(std::move(spec), "an alphabet");
}

}  // namespace psm::nn
