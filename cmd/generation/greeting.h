// The server's first message in a conversation (frames.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckks/scheme/chain/context.h"
#include "cmd/generation/text_note.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct Greeting {
  static constexpr NoteKind kKind = NoteKind::kGreeting;
  static constexpr const char* kWhat = "greeting of a server";

  // The program's id, or that of encrypted weights; fingerprints.
  uint64_t program = 0, parameters = 0, keys = 0;
  uint64_t text = 0;  // that it keeps; 0: none
  int window = 0, next = 0;
};

template <typename Tables>
void describe(Tables& t, Greeting& greeting) {
  t.number(greeting.program), t.number(greeting.parameters), t.number(greeting.keys), t.number(greeting.text);
  bounded(t, greeting.window, 0, kMaxText, "its window");
  bounded(t, greeting.next, 0, 2 * kMaxText, "its next token");
}

// The bytes of the longest file with these ciphertexts that a frame can carry.
uint64_t longest_file(const ckks::Context& context, const std::vector<PlanEnd>& ends);

}  // namespace psm::cmd
