// A file of a public key.
#pragma once

#include <string>

#include "ckks/scheme/public/public_key.h"
#include "ckks/wire/file_context.h"

namespace psm::wire {

uint64_t public_key_file_bytes(const ckks::Context& context);
void write_public_key(const std::string& path, const ckks::Context& context, const ckks::PublicKey& key);
ckks::PublicKey read_public_key(ByteSource source, const ckks::Context& context);

}  // namespace psm::wire
