// The owner's side of encrypted weights: of a model and of the key that its prompts are encrypted under too.
//
// In the folder of the keys, next to them:
//     weights.ct      the weights, for the server (cmd/generation/weight_note.h); half the bytes of ciphertexts, since
//                     what is encrypted under the secret key itself needs a seed in place of c_1
//     weights.owner   which client file they are of, for the owner alone: the file itself tells nobody
// Weights are encrypted once for all texts. A weight's error is that of a fresh encryption, and stays the same.
#pragma once

#include <cstdint>
#include <optional>

#include "ckks/scheme/client/secret_key.h"
#include "cmd/generation/client/text_model.h"
#include "cmd/protocol/key_files.h"

namespace psm::cmd {

// The number of the weights in the folder; nothing if there are none. Throws Error if they are another model's, or
// under another key pair: they are another owner's, and this party's prompts cannot be computed on with them.
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
