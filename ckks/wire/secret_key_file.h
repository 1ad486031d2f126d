// The file of a secret key: coefficients in {-1, 0, 1}, two bits each (value + 1), readable by its owner only.
// A target of its own: whatever computes on ciphertexts must not depend on it.
#pragma once

#include <string>

#include "ckks/scheme/secret_key.h"

namespace psm::wire {

void write_secret_key(const std::string& path, const SecretKey& key);
SecretKey read_secret_key(const std::string& path, const Context& context);

}  // namespace psm::wire
