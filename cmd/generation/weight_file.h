// A model's weights as ciphertexts, for a server that computes on them without knowing them: a file of ckks/wire
// under the owner's key, which is the key of the prompts as well. Its note is all that the server learns of the
// model: a number that the owner drew, the outline (attention/encrypted/model_outline.h), and the names of the
// ciphertexts, which follow from the outline. No fingerprint of the weights: who guesses a model could test it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attention/encrypted/model_outline.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/generation/generation_plans.h"
#include "cmd/generation/kept_text.h"

namespace psm::cmd {

constexpr size_t kMaxWeights = 1 << 16;  // ciphertexts

struct WeightNote {
  uint64_t id = 0;
  attention::ModelOutline outline;
  std::vector<std::string> names;

  std::string text() const;
  // Throws Error if the text is none.
  static WeightNote parse(const std::string& text, const std::string& path);
};

// Throws Error unless the file holds just what the plans want, under this key pair. `path` stands in messages.
void require_weights(wire::CiphertextReader& file, const WeightNote& note, const GenerationPlans& plans,
                     ckks::Fingerprint keys, const std::string& path);
Ciphertexts read_weights(wire::CiphertextReader& file, const WeightNote& note);

}  // namespace psm::cmd
