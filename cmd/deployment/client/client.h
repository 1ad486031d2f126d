// The client's part: keys, encryption, decryption. Holds the secret key; the server never links this.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/deployment/deployment.h"

namespace psm {

// Encrypts the program's inputs, each at the level that the plan wants, under the public key.
std::map<std::string, Ciphertext> encrypt_inputs(const Deployment& deployment, const Encoder& encoder,
                                                 Encryptor& encryptor, const SlotVectors& inputs);

SlotVectors decrypt_outputs(const Decryptor& decryptor, const std::map<std::string, Ciphertext>& outputs);

}  // namespace psm
