#include "ckks/wire/polynomial.h"

namespace psm::wire {

void write_polynomial(ContainerWriter& writer, const PackedPoly& poly) {
  writer.write(poly.limb(0), poly.bytes());
}

void write_polynomial(ContainerWriter& writer, const RnsPoly& poly) {
  write_polynomial(writer, PackedPoly(poly));
}

PackedPoly read_packed_polynomial(ContainerReader& reader, const Ring& ring, Basis basis) {
  PackedPoly poly =
      PackedPoly::read(ring, basis, [&](uint8_t* bytes, size_t count) { reader.read(bytes, count); });
  if (!poly.in_range()) reader.refuse("it is damaged (a residue is not below its prime)");
  return poly;
}

RnsPoly read_polynomial(ContainerReader& reader, const Ring& ring, Basis basis) {
  return read_packed_polynomial(reader, ring, basis).unpack();
}

}  // namespace psm::wire
