// What stands in the note of a ciphertext file, and so all that a server reads besides the ciphertexts
// themselves: which program they are for, a number that the client drew for the request, and the names of the
// ciphertexts of one group of prompts. Nothing of the prompts: their lengths stay with the client
// (prompt_record.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace psm::cmd {

struct CiphertextNote {
  uint64_t program_id = 0;  // the first bytes of the digest of the program that they are for
  uint64_t request = 0;
  std::vector<std::string> names;  // of a group, in order; the file holds whole groups

  std::string text() const;
  // Throws Error if the text is not a note.
  static CiphertextNote parse(const std::string& text, const std::string& path);
};

constexpr size_t kMaxCiphertexts = 4096;  // of a request

// Prompts in groups of at most `size`.
std::vector<std::vector<std::vector<int>>> groups_of(const std::vector<std::vector<int>>& prompts, int size);

}  // namespace psm::cmd
