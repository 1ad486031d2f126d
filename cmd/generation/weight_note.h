// A model's weights as ciphertexts, for a server that computes on them without knowing them: a file of ckks/wire
// under the owner's key, which is the key of the prompts as well. Its note says which program they are for, a number
// that their owner drew, and the names of the ciphertexts, which follow from the program. No fingerprint of the weights:
// who guesses a model could test it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace psm::cmd {

constexpr size_t kMaxWeights = 1 << 16;  // ciphertexts

struct WeightNote {
  uint64_t program_id = 0, id = 0;
  std::vector<std::string> names;

  std::string text() const;
  // Throws Error if the text is not a note.
  static WeightNote parse(const std::string& text, const std::string& path);
};

}  // namespace psm::cmd
