// The client's side of a conversation (cmd/generation/frames.h): the greeting, encrypted requests, decrypted answers.
#pragma once

#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/encoding/encoder.h"
#include "cmd/client/client_file.h"
#include "cmd/generation/frames.h"
#include "cmd/generation/text_ends.h"

namespace psm::cmd {

// The client's part of a program that continues texts: the two ends of the program, and those of the model.
struct TextModel : TextEnds {
  // Throws Error if the program does not continue texts.
  explicit TextModel(ClientFile client);

  ClientFile file;
};

class Conversation {
 public:
  // Reads the server's greeting. Throws Error if the server has another program or other keys. `when_gone` is
  // advice for messages about a server that is gone. All arguments must outlive the object.
  Conversation(const TextModel& model, const ckks::SecretKey& secret, Channel& server, std::string when_gone);

  const Greeting& greeting() const { return greeting_; }
  TextNote note_of(uint64_t text, int first, int count) const;  // but for the names

  // A request with these tokens of each text, whose caches begin at token `window`.
  std::string encrypted(const TextNote& note, int window, const std::vector<std::vector<int>>& tokens,
                        const std::vector<PlanEnd>& ends);
  // Sends a frame. If the server is gone, reports the reason that it may have sent.
  void say(FrameKind kind, const std::string& payload);
  // Receives the answer to the request of `note`, whose caches begin at token `window`. The last token's
  // slots come first. An answer that is not read is checked and not decrypted, and nothing is returned.
  enum class Answer { kRead, kDropped };
  attention::SlotVectors answer_to(const TextNote& note, int window, Answer answer);
  // Counts the ciphertexts that were decrypted.
  size_t decrypted() const { return decrypted_; }
  // The server's figures of its runs.
  Json figures();

 private:
  Frame receive(uint64_t longest);

  const TextModel& d_;
  const ckks::Encoder encoder_;
  const ckks::Decryptor decryptor_;
  ckks::SeededEncryptor encryptor_;
  const ckks::SecretKey& secret_;
  Channel& server_;
  const std::string when_gone_;
  Greeting greeting_;
  size_t decrypted_ = 0;
};

}  // namespace psm::cmd
