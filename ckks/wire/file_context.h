// The parameters of a file of keys or ciphertexts, which each header has. A file is refused if its numbers do
// not give the fingerprint in its header.
#pragma once

#include <memory>

#include "ckks/scheme/chain/context.h"
#include "ckks/wire/container.h"

namespace psm::wire {

// Validates the specification of a header (security bounds included) and builds its Context.
std::unique_ptr<const ckks::Context> make_context(const ContainerReader& reader);
// Reads the header alone: parameters and key pair.
std::unique_ptr<const ckks::Context> read_context(ByteSource source, FileKind kind);
// Refuses a file of other parameters.
void require_parameters(const ContainerReader& reader, const ckks::Context& context);

}  // namespace psm::wire
