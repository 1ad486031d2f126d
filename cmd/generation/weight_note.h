// A model's weights as ciphertexts, for a server that does not know them: a file of ckks/wire under the
// owner's key, which is also the key of the prompts. Its note has the program, a random number, and the names
// of the ciphertexts, which follow from the program. It has no fingerprint of the weights, because that would
// let anyone test a guessed model.
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
