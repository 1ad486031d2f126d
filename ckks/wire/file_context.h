// The parameters of a file of keys or ciphertexts. They travel in each header; a file whose numbers do not give the
// fingerprint that its header states is refused.
#pragma once

#include <memory>

#include "ckks/scheme/chain/context.h"
#include "ckks/wire/container.h"

namespace psm::wire {

// Validates the specification of a header (security bounds included) and builds its Context.
std::unique_ptr<const ckks::Context> make_context(const ContainerReader& reader);
// The header alone: which parameters, which key pair.
std::unique_ptr<const ckks::Context> read_context(ByteSource source, FileKind kind);
// Refuses a file of other parameters.
void require_parameters(const ContainerReader& reader, const ckks::Context& context);

}  // namespace psm::wire
