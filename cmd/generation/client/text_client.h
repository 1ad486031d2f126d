// The client of a conversation (cmd/generation/frames.h): for each token it embeds, encrypts, sends,
// decrypts, and picks the next one. It holds the secret key; the server never links this.
//
// Beyond T tokens. The server has places for the keys and values of T tokens, and emptying one would cost a
// level. With `slide` the client then sends the last T/2 tokens of the text as a prompt. So there is a whole
// pass once in T/2 tokens, and a token sees the T/2 to T tokens before it.
//
// With encrypted weights there is no pass for prompts. The tokens of a prompt are sent one by one, all
// answers except the last are dropped unread, and no window slides.
//
// Decrypted values change only the encrypted tokens, never what is sent or when: the client does not stop
// early, and does not repeat a request because an answer looks wrong (ckks/SECURITY.md).
#pragma once

#include <string>
#include <vector>

#include "cmd/generation/client/conversation.h"
#include "cmd/generation/client/text_record.h"

namespace psm::cmd {

class TextClient {
 public:
  struct Step {
    int position = 0;  // of the token that was picked
    int token = 0;
    int window = 0;              // the first token that the server saw for it
    std::vector<double> logits;  // decrypted
    double seconds = 0;          // from the one before it
    bool was_prompt = false;     // a whole pass
    int computed = 1;            // tokens that the server computed on for it
  };

  // Reads the server's greeting. `record` is new or was loaded from `folder`. Throws Error if server and
  // record do not belong together. All arguments must outlive the object.
  TextClient(const TextModel& model, const ckks::SecretKey& secret, Channel& server, TextRecord& record,
             const TextFolder& folder);

  // Picks the next token, appends it to the record and saves the record.
  Step next();
  // The server's figures of its runs.
  Json figures() { return server_.figures(); }
  // Counts the ciphertexts that were decrypted: those of the answers that tokens were picked from.
  size_t decrypted() const { return server_.decrypted(); }

 private:
  // Sends a request. If the folder has the same request, encrypted earlier, sends that.
  void send(FrameKind kind, TextNote note, const std::vector<PlanEnd>& ends);
  TextNote note_of(int first, int count) const { return server_.note_of(record_.text, first, count); }

  const TextModel& d_;
  const ckks::SecretKey& secret_;
  Conversation server_;
  TextRecord& record_;
  const TextFolder& folder_;
  int window_ = 0, fed_ = 0;  // of the server: the first token in its caches, and the one that comes next
};

}  // namespace psm::cmd
