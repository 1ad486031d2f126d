// A model's weights as ciphertexts, for a server that computes on them without knowing them: a file of ckks/wire
// under the owner's key, which is the key of the prompts as well. Its note says which program they are for, a number
// that their owner drew, and the names of the ciphertexts, which follow from the program. No fingerprint of the weights:
// who guesses a model could test it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/protocol/notes.h"

namespace psm::cmd {

constexpr size_t kMaxWeights = 1 << 16;  // ciphertexts

struct WeightNote {
  static constexpr NoteKind kKind = NoteKind::kWeights;
  static constexpr const char* kWhat = "note of a model's weights";

  uint64_t program_id = 0, id = 0;
  std::vector<std::string> names;
};

template <typename Tables>
void describe(Tables& t, WeightNote& note) {
  t.number(note.program_id), t.number(note.id);
  wire::names(t, note.names);
}

}  // namespace psm::cmd
