// The client's part: keys, encryption, decryption. Holds the secret key; the server never links this.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/deployment/deployment.h"
#include "cmd/deployment/plan_ends.h"

namespace psm {

// The inputs as plaintexts, in the plan's order, each at the level that the plan wants.
std::vector<Plaintext> encode_inputs(const Encoder& encoder, std::span<const PlanEnd> ends,
                                     const SlotVectors& inputs);

// The inputs encrypted under the public key, by name.
std::map<std::string, Ciphertext> encrypt_inputs(const Deployment& deployment, const Encoder& encoder,
                                                 Encryptor& encryptor, const SlotVectors& inputs);

SlotVectors decrypt_outputs(const Decryptor& decryptor, const std::map<std::string, Ciphertext>& outputs);

}  // namespace psm
