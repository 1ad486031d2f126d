// Safetensors files for fuzzing (ckks/base/testing/fuzz.h).
#pragma once

#include "ckks/base/testing/fuzz.h"

namespace psm::nn {

// Removes the checksum of a written file, for ChecksumRule::kIfPresent, so that mutations are not simply
// refused.
std::string without_checksum(std::string file);

// The length and the punctuation of the header.
std::vector<size_t> safetensors_marks(const std::string& file);

// Makes the length of the header the place where its outermost brace closes.
void repair_safetensors(std::string& file, TrainingRandom& random);

}  // namespace psm::nn
