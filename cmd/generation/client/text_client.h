// The client of a conversation (cmd/generation/frames.h): embeds and encrypts, sends, decrypts, picks the
// next token, and again. Holds the secret key; the server never links this.
//
// Beyond T tokens. The server has places for the keys and values of T tokens, and no way to empty one of them
// that does not cost a level. With `slide` the client then sends the last T/2 tokens of the text as a prompt:
// a whole pass once in T/2 tokens, and a token sees T/2 to T of those before it.
//
// Where no pass takes prompts (encrypted weights) the tokens of a prompt are sent one by one, and what comes back of
// all but the last is let go unread; no window slides.
//
// What it sends, and when, depends on nothing that it decrypts but through the tokens: it never stops early,
// and asks for nothing again because an answer looks wrong (ckks/SECURITY.md).
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

  // Reads the server's greeting. `record` is new or has been loaded from `folder`. Throws Error where server
  // and record do not belong together. All arguments outlive the object.
  TextClient(const TextModel& model, const ckks::SecretKey& secret, FrameChannel& server, TextRecord& record,
             const TextFolder& folder);

  // Picks the next token, appends it to the record and saves that.
  Step next();
  // What the server tells of its runs.
  Json figures() { return server_.figures(); }

 private:
  // Sends it, unless the folder has the same request as it was encrypted before.
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
