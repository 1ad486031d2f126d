// The owner's side of encrypted weights. The owner has the model, and the key that also encrypts its prompts.
//
// In the folder of the keys, next to them:
//     weights.ct      the weights, for the server (cmd/generation/text_ends.h); half the bytes of ciphertexts, since
//                     what is encrypted under the secret key itself needs a seed in place of c_1
//     weights.owner   which client file they are of, for the owner alone: the file itself tells nobody
// Weights are encrypted once for all texts. A weight's error is that of a fresh encryption, and stays the same.
#pragma once

#include <cstdint>
#include <optional>

#include "ckks/scheme/client/secret_key.h"
#include "cmd/generation/client/text_model.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

// Returns the number of the weights in the folder, or nullopt if there are none. Throws Error if they are of another
// model or under another key pair: then they have another owner, and cannot be used with this party's prompts.
std::optional<uint64_t> encrypted_weights_in(const KeyFiles& files, const ckks::SecretKey& secret,
                                             const TextModel& model);

struct WeightFigures {
  uint64_t id = 0;  // their number, drawn
  size_t count = 0;
  uint64_t file_bytes = 0;
  double seconds = 0;
};

// Writes both files, whole or not at all.
WeightFigures encrypt_weights(const KeyFiles& files, const ckks::SecretKey& secret, const TextModel& model);

}  // namespace psm::cmd
