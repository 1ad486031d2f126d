// The note of a ciphertext file in a conversation: what ciphertext_note.h says, of which text and of which of
// its tokens. Nothing of the tokens themselves; how many there are, a server learns.
#pragma once

#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {

constexpr int kMaxText = 1 << 24;  // tokens

// `request` is the text's number, which its client drew.
struct TextNote : CiphertextNote {
  static constexpr NoteKind kKind = NoteKind::kText;
  static constexpr const char* kWhat = "note of a text";

  int first = 0, count = 0;  // tokens [first, first + count) of the text
};

template <typename Tables>
void describe(Tables& t, TextNote& note) {
  describe(t, static_cast<CiphertextNote&>(note));
  bounded(t, note.first, 0, kMaxText, "its first token");
  bounded(t, note.count, 1, kMaxText, "its number of tokens");
}

}  // namespace psm::cmd
