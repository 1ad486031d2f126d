// Polynomials inside a record: limb after limb, residues bit-packed (ckks/ring/arithmetic/packing.h).
#pragma once

#include "ckks/ring/packed_poly.h"
#include "ckks/wire/container.h"

namespace psm::wire {

void write_polynomial(ContainerWriter& writer, const ckks::RnsPoly& poly);
void write_polynomial(ContainerWriter& writer, const ckks::PackedPoly& poly);

// An NTT-form polynomial over `basis`; refuses residues that are out of range.
ckks::PackedPoly read_packed_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis);
ckks::RnsPoly read_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis);

}  // namespace psm::wire
