// The note of a ciphertext file in a conversation: what ciphertext_note.h says, of which text and of which of
// its tokens. Nothing of the tokens themselves; how many there are, a server learns.
#pragma once

#include <string>

#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {

// `request` is the text's number, which its client drew.
struct TextNote : CiphertextNote {
  int first = 0, count = 0;  // tokens [first, first + count) of the text

  std::string text() const;
  // Throws Error if the text is not a note.
  static TextNote parse(const std::string& text, const std::string& path);
};

constexpr int kMaxText = 1 << 24;  // tokens

}  // namespace psm::cmd
