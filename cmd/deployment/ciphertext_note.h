// What stands in the note of a ciphertext file: which model the ciphertexts are for, the names of the values of one
// group, and for each group of prompts that share ciphertexts their lengths. Nothing of the prompts themselves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace psm {

struct CiphertextNote {
  uint64_t model_fingerprint = 0;
  std::vector<std::string> names;         // ciphertexts of a group, in order
  std::vector<std::vector<int>> lengths;  // by group and prompt

  size_t ciphertexts() const { return names.size() * lengths.size(); }

  std::string text() const;
  // Throws Error if the text is none, or has groups of more than `max_prompts` prompts of at most `max_length` tokens.
  static CiphertextNote parse(const std::string& text, const std::string& path, int max_prompts,
                              int max_length);
};

constexpr int kMaxGroups = 4096;

// Prompts in groups of at most `size`.
std::vector<std::vector<std::vector<int>>> groups_of(const std::vector<std::vector<int>>& prompts, int size);

}  // namespace psm
