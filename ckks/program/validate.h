// Checks that the builder and the validation of whole programs share; both throw psm::Error that starts with
// `where`, the name of the instruction.
#pragma once

#include <string>

#include "ckks/program/program.h"

namespace psm::program {

// A period is given, and divides the slots.
void validate_plain(const ckks::Plain&, size_t slots, const std::string& where);

// Terms name outputs and inputs that exist, and every output has a term.
void validate_linear(const ckks::LinearTransform&, const Instruction&, size_t slots,
                     const std::string& where);

}  // namespace psm::program
