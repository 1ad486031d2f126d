// Polynomials inside a record: limb after limb, residues bit-packed (residues.h).
#pragma once

#include "ckks/ring/poly.h"
#include "ckks/wire/container.h"

namespace psm::wire {

uint64_t packed_bytes(const Ring& ring, Basis basis);

void write_polynomial(ContainerWriter& writer, const RnsPoly& poly);

// An NTT-form polynomial over `basis`; refuses residues that are out of range.
RnsPoly read_polynomial(ContainerReader& reader, const Ring& ring, Basis basis);

}  // namespace psm::wire
