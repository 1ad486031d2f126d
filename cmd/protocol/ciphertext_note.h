// The note of a ciphertext file. A server reads nothing else besides the ciphertexts: the program that they
// are for, a random number of the request, and the names of the ciphertexts of one group of prompts. It says
// nothing about the prompts; their lengths stay with the client (prompt_record.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/protocol/notes.h"

namespace psm::cmd {

struct CiphertextNote {
  static constexpr NoteKind kKind = NoteKind::kCiphertexts;
  static constexpr const char* kWhat = "note of prompts or answers";

  uint64_t program_id = 0;  // the first bytes of the digest of the program that they are for
  uint64_t request = 0;
  std::vector<std::string> names;  // of a group, in order; the file holds whole groups
};

template <typename Tables>
void describe(Tables& t, CiphertextNote& note) {
  t.number(note.program_id), t.number(note.request);
  wire::names(t, note.names);
}

// Prompts in groups of at most `size`.
inline std::vector<std::vector<std::vector<int>>> groups_of(const std::vector<std::vector<int>>& prompts,
                                                            int size) {
  std::vector<std::vector<std::vector<int>>> groups;
  for (size_t i = 0; i < prompts.size(); ++i) {
    if (i % static_cast<size_t>(size) == 0) groups.emplace_back();
    groups.back().push_back(prompts[i]);
  }
  return groups;
}

}  // namespace psm::cmd
