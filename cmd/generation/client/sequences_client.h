// The client of several texts that go on in step (attention/encrypted/decode_sequences.h): at every position it
// sends a token of each, encrypted together, and gets what comes next of each.
//
// Prompts go token by token. A text whose prompt is over goes on with what is picked for it, while longer prompts are
// still read: all texts have as many tokens in the end. What it sends, and when, depends on nothing that it decrypts
// but through the tokens.
#pragma once

#include <vector>

#include "cmd/generation/client/conversation.h"
#include "cmd/generation/client/sampler.h"

namespace psm::cmd {

class SequencesClient {
 public:
  struct Step {
    std::vector<std::vector<double>> logits;  // decrypted, of each text
    double seconds = 0;
  };

  // Reads the server's greeting. `text`: a number for all of them. Text u is sampled by seed + u. Throws Error on
  // no prompts, more of them than sequences, empty ones and ones that leave no place; where the server keeps a text
  // already. All arguments outlive the object.
  SequencesClient(const GenerationDeployment& deployment, const ckks::SecretKey& secret, FrameChannel& server,
                  uint64_t text, std::vector<std::vector<int>> prompts, const Sampler& sampler);

  // One position of all texts.
  Step next();
  int position() const { return position_; }  // that comes next
  const std::vector<std::vector<int>>& texts() const { return texts_; }
  Json figures() { return server_.figures(); }

 private:
  const GenerationDeployment& d_;
  Conversation server_;
  const uint64_t text_;
  std::vector<std::vector<int>> texts_;
  const Sampler sampler_;
  int position_ = 0;
};

}  // namespace psm::cmd
