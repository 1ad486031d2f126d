// The names under which the seconds of a model's programs are summed: what an instruction computes, by the
// labels of attention/encrypted, and what kind of operation it is.
#pragma once

#include "ckks/program/program.h"

namespace psm::cmd {

// Bootstraps are a part of their own, wherever they stand.
const char* computed_part(const program::Instruction&);

// A linear map whole, rotations and plaintext products.
const char* operation_part(program::Opcode);

}  // namespace psm::cmd
