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
#include "cmd/client/encoding.h"
#include "cmd/deployment/deployment.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

// The inputs encrypted under the public key, by name.
std::map<std::string, ckks::Ciphertext> encrypt_inputs(const Deployment& deployment,
                                                       const ckks::Encoder& encoder,
                                                       ckks::Encryptor& encryptor,
                                                       const attention::SlotVectors& inputs);

attention::SlotVectors decrypt_outputs(const ckks::Decryptor& decryptor,
                                       const std::map<std::string, ckks::Ciphertext>& outputs);

}  // namespace psm::cmd
