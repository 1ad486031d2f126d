#include "nn/text/alphabet.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"

namespace psm::nn {

Alphabet::Alphabet(std::string_view text) {
  token_.fill(-1);
  for (const char c : text) token_[static_cast<unsigned char>(c)] = 0;
  for (size_t byte = 0; byte < token_.size(); ++byte) {
    if (token_[byte] < 0) continue;
    token_[byte] = static_cast<int>(bytes_.size());
    bytes_.push_back(static_cast<char>(byte));
  }
}

Alphabet Alphabet::of_bytes(std::string_view bytes, const std::string& what) {
  Alphabet alphabet(bytes);
  if (alphabet.bytes_ != bytes)
    throw Error(message(what, ": the alphabet is not in order; the file is damaged"));
  return alphabet;
}

std::vector<int> Alphabet::encode(std::string_view text) const {
  std::vector<int> tokens;
  tokens.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const int character = utf8_at(text, at).bytes;
    const std::string_view bytes = text.substr(at, static_cast<size_t>(std::max(character, 1)));
    for (const char c : bytes) {
      const int token = token_[static_cast<unsigned char>(c)];
      if (token < 0)
        throw Error(message("the text ",
                            character > 0 ? "has" : message("is not UTF-8 at byte ", at, ", where it has"),
                            " \"", printable(bytes), "\", which the model's alphabet of ", vocab(),
                            " bytes lacks; leave it out"));
      tokens.push_back(token);
    }
    at += bytes.size();
  }
  return tokens;
}

std::string Alphabet::bytes(int token) const {
  PSM_CHECK(token >= 0 && token < vocab(), token);
  return std::string(1, bytes_[token]);
}

std::string Alphabet::decode(std::span<const int> tokens) const {
  std::string text;
  for (const int token : tokens) text += bytes(token);
  return text;
}

}  // namespace psm::nn
