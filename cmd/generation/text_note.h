// The note of a ciphertext file in a conversation: that of ciphertext_note.h, the text, and the places of its
// tokens. It says nothing about the tokens themselves except their number.
#pragma once

#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {

constexpr int kMaxText = 1 << 24;  // tokens

// `request` is the text's number, which the client drew at random.
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
