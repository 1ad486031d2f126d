// The server of a conversation (frames.h): ciphertexts in, ciphertexts out, and between them the caches that
// it keeps. It depends on no secret key; cmd/links_test.sh asks the build.
//
// What does not depend on length and position (weights, transforms) is encoded once: for the prompts when one
// comes, and let go after it, since a text has few of them; for the tokens with the first. So it is with evaluation
// keys: of their file the server holds those of the pass or of the token, whichever is at hand; a device has all.
// Encrypted weights come as ciphertexts and stay as they are.
//
// Refused, with what is kept unchanged: ciphertexts of another program, key pair, text or level; a prompt while
// another text is kept; a token that was computed already; one that leaves a gap; one beyond T.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/generation/frames.h"
#include "cmd/generation/greeting.h"
#include "cmd/generation/server/held_keys.h"
#include "cmd/generation/server/kept_text.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/server/chosen_engine.h"

namespace psm::cmd {

class TextServer {
 public:
  // Throws Error if a key is missing or belongs elsewhere. All arguments outlive the object.
  // On a device, unless that is null; with these weights, where the program wants them.
  TextServer(const TextProgram& program, HeldKeys& keys, KeptText& kept, ckks::Device* device = nullptr,
             const Ciphertexts* weights = nullptr);

  Greeting greeting() const;
  // The answer to one frame. Throws Error where it is refused.
  Frame reply(const Frame& request);
  // Serves until the client closes its pipe. Throws Error for a malformed frame, after telling the client.
  // `watch` sees each request and its answer before that is sent.
  void serve(FrameChannel& client,
             const std::function<void(const Frame& request, const Frame& answer)>& watch = {});
  // Shows every result of every instruction from now on; instructions count from 0 in the prompt's plan or the
  // token's.
  void observe(std::function<void(size_t instruction, const ckks::Ciphertext&)> observer) {
    observer_ = std::move(observer);
  }

 private:
  // The keys of the run at hand.
  void hold(const ckks::KeyRequest& keys);
  void prompt(const std::string& file);
  void token(const std::string& file);
  // Requires a note of this model, key pair and text, with these ciphertexts at these levels.
  TextNote require_note(wire::CiphertextReader& file, const std::vector<PlanEnd>& ends) const;
  void run(program::EncryptedMachine& machine, const TextNote& note, int window, Ciphertexts inputs,
           program::RunOptions options);
  program::MachineOptions options(size_t encoded_bytes) const;
  Json figures() const;

  const TextProgram& d_;
  std::function<void(size_t, const ckks::Ciphertext&)> observer_;
  KeptText& kept_;
  const Ciphertexts* weights_;
  HeldKeys& keys_;
  const bool on_device_;
  ChosenEngine chosen_;
  ckks::Encoder encoder_;
  ckks::Evaluator evaluator_;
  ckks::Bootstrappers bootstrappers_;
  std::unique_ptr<program::EncryptedMachine> token_machine_;  // from the first token on
  Json runs_ = Json::Array();                                 // seconds of each, and what is kept encoded
};

}  // namespace psm::cmd
