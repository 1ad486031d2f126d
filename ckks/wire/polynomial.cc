#include "ckks/wire/polynomial.h"

namespace psm::wire {

void write_polynomial(ContainerWriter& writer, const ckks::PackedPoly& poly) {
  writer.write(poly.limb(0), poly.bytes());
}

void write_polynomial(ContainerWriter& writer, const ckks::RnsPoly& poly) {
  write_polynomial(writer, ckks::PackedPoly(poly));
}

namespace {

constexpr const char* kOutOfRange = "it is damaged (a residue is not below its prime)";

ckks::PackedPoly read_unchecked(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis) {
  return ckks::PackedPoly::read(ring, basis,
                                [&](uint8_t* bytes, size_t count) { reader.read(bytes, count); });
}

}  // namespace

ckks::PackedPoly read_packed_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis) {
  ckks::PackedPoly poly = read_unchecked(reader, ring, basis);
  if (!poly.in_range()) reader.refuse(kOutOfRange);
  return poly;
}

ckks::RnsPoly read_polynomial(ContainerReader& reader, const ckks::Ring& ring, ckks::Basis basis) {
  ckks::RnsPoly poly(ring, basis, ckks::Form::kNtt);
  if (!read_unchecked(reader, ring, basis).unpack_into(poly)) reader.refuse(kOutOfRange);
  return poly;
}

}  // namespace psm::wire
