// A tokenizer turns a text into the tokens of a model and back.
//
//     encode: bytes -> tokens in [0, vocab)       decode: tokens -> bytes
//
// A tokenizer is immutable after construction; every function may be called from several threads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace psm::nn {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  virtual int vocab() const = 0;
  // The tokens of a text, without start() and end(). Throws psm::Error that names what it cannot encode.
  virtual std::vector<int> encode(std::string_view text) const = 0;
  // The text of tokens that begin a text. 0 <= token < vocab.
  virtual std::string decode(std::span<const int> tokens) const = 0;
  // The bytes of one token inside a text. They may be a part of a character.
  virtual std::string bytes(int token) const = 0;

  // The token before every text in the model's training, and the one that ends a text.
  virtual std::optional<int> start() const { return std::nullopt; }
  virtual std::optional<int> end() const { return std::nullopt; }
  // How many end() stand between two texts that an encoder reads together.
  virtual int ends_between() const { return 2; }
};

}  // namespace psm::nn
