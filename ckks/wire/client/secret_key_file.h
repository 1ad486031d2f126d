// The file of a secret key: coefficients in {-1, 0, 1}, two bits each (value + 1), readable by its owner
// only. No branch and no address depends on a coefficient: packing, checksum and checks treat all alike. But
// it may be seen that a file is refused as damaged, and why.
//
// A target of its own, because code that computes on ciphertexts must not depend on it.
#pragma once

#include <string>

#include "ckks/base/files/byte_source.h"
#include "ckks/scheme/client/secret_key.h"

namespace psm::wire {

constexpr uint32_t kSecretKeyTag = 1;

void write_secret_key(const std::string& path, const ckks::SecretKey& key);
// Refuses a file that others than its owner may read or write, as ssh does.
ckks::SecretKey read_secret_key(ByteSource source, const ckks::Context& context);

}  // namespace psm::wire
