#include "ckks/wire/polynomial.h"

namespace psm::wire {

void write_polynomial(ContainerWriter& writer, const ckks::PackedPoly& poly) {
  writer.write(poly.limb(0), poly.bytes());
}

void write_polynomial(ContainerWriter& writer, const ckks::RnsPoly& poly) {
  write_polynomial(writer, ckks::PackedPoly(poly));
}

ckks::PackedPoly read_packed_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis) {
  ckks::PackedPoly poly =
      ckks::PackedPoly::read(ring, basis, [&](uint8_t* bytes, size_t count) { reader.read(bytes, count); });
  if (!poly.in_range()) reader.refuse("it is damaged (a residue is not below its prime)");
  return poly;
}

ckks::RnsPoly read_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis) {
  return read_packed_polynomial(reader, ring, basis).unpack();
}

}  // namespace psm::wire
