// Reads a server's keys from their file.
#pragma once

#include "ckks/wire/key_file.h"

namespace psm::cmd {

// Shows a progress bar. Throws Error if a key is missing.
ckks::EvaluationKeys read_keys(wire::EvaluationKeysReader& reader, const ckks::KeyRequest& request);

}  // namespace psm::cmd
