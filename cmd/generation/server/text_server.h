// The server of a conversation (frames.h): ciphertexts in, ciphertexts out, and caches in between. It depends
// on no secret key; cmd/links_test.sh checks that in the build graph.
//
// Plaintexts that do not depend on length and position (weights, transforms) are encoded once for tokens,
// with the first one. For a prompt they are encoded when it comes and freed after it, because a text has few
// prompts. In the same way the server holds only the evaluation keys of the current pass or token; a device
// has all. Encrypted weights stay as they are.
//
// These are refused without changing the state: ciphertexts of another program, key pair, text or level; a prompt while
// another text is kept; a token that was computed already, that leaves a gap, or that is beyond T.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/wire/ciphertext_reader.h"
#include "cmd/generation/frames.h"
#include "cmd/generation/server/kept_text.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/generation/text_ends.h"
#include "cmd/server/chosen_engine.h"

namespace psm::cmd {

class TextServer {
 public:
  // Reads evaluation keys from the file `keys`, and the text in the folder `state` (KeptText). Throws Error if a key is
  // missing or of another key pair. `device` is null for the processor; `weights` are needed if the program has
  // encrypted weights. The program must outlive the object.
  TextServer(const TextProgram& program, const std::string& keys, const std::string& state,
             std::unique_ptr<const ckks::Engine> device = nullptr, EncryptedWeights* weights = nullptr);

  const ckks::EvaluationKeys& keys() const { return keys_.keys(); }  // that it holds
  const KeptText& kept() const { return kept_; }
  Greeting greeting() const;
  // The answer to one frame. Throws Error if the frame is refused.
  Frame reply(const Frame& request);
  // The same, or a refusal that says why.
  Frame reply_or_refuse(const Frame& request);
  // Serves until the client closes its pipe. Throws Error for a malformed frame, after telling the client.
  void serve(FrameChannel& client);

 private:
  void prompt(const std::string& file);
  void token(const std::string& file);
  // Reads a request of this model, key pair and text, with these ciphertexts at these levels.
  std::pair<TextNote, Ciphertexts> read(const std::string& file, const std::vector<PlanEnd>& ends) const;
  void run(program::EncryptedMachine& machine, const TextNote& note, int window, Ciphertexts inputs,
           program::RunOptions options);

  const TextProgram& d_;
  HeldKeys keys_;
  KeptText kept_;
  const Ciphertexts weights_;
  const bool on_device_;
  const ChosenEngine own_;
  std::unique_ptr<program::EncryptedMachine> token_machine_;  // from the first token on
  Json runs_ = Json::Array();                                 // seconds of each, and what is kept encoded
};

}  // namespace psm::cmd
