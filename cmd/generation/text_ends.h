// The two ends of a program that continues texts: the ciphertexts that its client sends and gets, those that
// the server keeps between two tokens, and encrypted weights. The client knows them from its client file, the
// server from the program.
//
// Entry points:
//     prompt   the pass over the first tokens of a text; its argument is their number. Missing with encrypted weights:
//              a prompt then comes token by token, the first one with empty caches
//     token    one further token; its argument is its place, from 0 on
// A name among a token's inputs and outputs is a cache: keys or values, which stay at the server. Inputs
// whose names begin with kWeightPrefix are encrypted weights.
#pragma once

#include <memory>
#include <vector>

#include "ckks/scheme/chain/context.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct TextEnds {
  // From all ends of the entry points; those of a missing entry point are empty. Throws Error if there is no
  // entry point for tokens, or if a prompt or a token makes caches that the next token cannot take.
  TextEnds(PlanEnds prompt, PlanEnds token);

  // The number in ciphertexts: the program's id, or the number of the encrypted weights.
  uint64_t id = 0;
  std::shared_ptr<const ckks::Context> context;
  int tokens = 0;  // places of the caches: no prompt is longer
  // The client's bounds on the probability of an overflow in a run (ClientEntry).
  double prompt_overflow = 0, token_overflow = 0;
  // The client's ends. Those of a prompt are empty if prompts come token by token.
  std::vector<PlanEnd> prompt_inputs, prompt_outputs, token_inputs, token_outputs;
  std::vector<PlanEnd> caches;  // at the levels that a token takes
  std::vector<PlanEnd> weights;

  bool takes_prompts() const { return !prompt_inputs.empty(); }
  // The outputs of the run on tokens from `first` on, if the caches begin at token `window`.
  const std::vector<PlanEnd>& outputs(int first, int window) const {
    return first == window && takes_prompts() ? prompt_outputs : token_outputs;
  }
};

constexpr int kMaxText = 1 << 24;  // tokens

// The note of a ciphertext file in a conversation: what CiphertextNote says, of which text and of which of its tokens.
// Nothing of the tokens themselves; how many there are, a server learns. `request` is the text's number, which its client
// drew.
struct TextNote : CiphertextNote {
  static constexpr NoteKind kKind = NoteKind::kText;
  static constexpr const char* kWhat = "note of a text";

  int first = 0, count = 0;  // tokens [first, first + count) of the text
};

template <typename Tables>
void describe(Tables& t, TextNote& note) {
  describe(t, static_cast<CiphertextNote&>(note));
  bounded(t, note.first, 0, kMaxText, "first token");
  bounded(t, note.count, 1, kMaxText, "number of tokens");
}

// The server's first message in a conversation (frames.h).
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
  bounded(t, greeting.window, 0, kMaxText, "window");
  bounded(t, greeting.next, 0, 2 * kMaxText, "next token");
}

// The bytes of the longest file with these ciphertexts that a frame can carry.
uint64_t longest_file(const ckks::Context& context, const std::vector<PlanEnd>& ends);
// Those of the longest request, a prompt or a token.
uint64_t longest_request(const TextEnds& ends);

// A model's weights as ciphertexts, for a server that does not know them: a file of ckks/wire under the
// owner's key, which is also the key of the prompts. Its note has the program, a random number (`request`), and
// the names of the ciphertexts, which follow from the program. It has no fingerprint of the weights, because that would
// let anyone test a guessed model.
struct WeightNote : CiphertextNote {
  static constexpr NoteKind kKind = NoteKind::kWeights;
  static constexpr const char* kWhat = "note of a model's weights";
};

}  // namespace psm::cmd
