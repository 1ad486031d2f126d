// A file of a public key.
#pragma once

#include <string>

#include "ckks/scheme/public/ciphertext.h"
#include "ckks/wire/container.h"

namespace psm::wire {

void write_public_key(const std::string& path, const ckks::Context& context, const ckks::PublicKey& key);
ckks::PublicKey read_public_key(ByteSource source, const ckks::Context& context);

}  // namespace psm::wire
