// The tokenizer of character models: each byte of a text is a token, and token i is the i-th of the bytes
// that occur.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "nn/text/tokenizer.h"

namespace psm::nn {

class Alphabet final : public Tokenizer {
 public:
  // The distinct bytes of a text, in order.
  explicit Alphabet(std::string_view text);
  // From all_bytes(); throws psm::Error that begins with `what` if they are not in order.
  static Alphabet of_bytes(std::string_view bytes, const std::string& what);

  int vocab() const override { return static_cast<int>(bytes_.size()); }
  // Throws psm::Error naming the first character with a byte that the alphabet lacks.
  std::vector<int> encode(std::string_view text) const override;
  std::string decode(std::span<const int> tokens) const override;
  std::string bytes(int token) const override;
  const std::string& all_bytes() const { return bytes_; }

 private:
  std::string bytes_;
  std::array<int, 256> token_{};  // -1: not in the alphabet
};

}  // namespace psm::nn
