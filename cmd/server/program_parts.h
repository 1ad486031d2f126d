// The names under which the seconds of a model's programs are summed: by computed part, from the labels of
// attention/encrypted, and by kind of operation.
#pragma once

#include "ckks/program/program.h"

namespace psm::cmd {

// All bootstraps together are a part of their own.
const char* computed_part(const program::Instruction&);

// A linear map counts as a whole, rotations and plaintext products.
const char* operation_part(program::Opcode);

}  // namespace psm::cmd
