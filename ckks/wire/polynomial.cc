#include "ckks/wire/polynomial.h"

#include <atomic>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/arithmetic/packing.h"

namespace psm::wire {

void write_polynomial(ContainerWriter& writer, const PackedPoly& poly) {
  writer.write(poly.limb(0), poly.bytes());
}

void write_polynomial(ContainerWriter& writer, const RnsPoly& poly) {
  write_polynomial(writer, PackedPoly(poly));
}

RnsPoly read_polynomial(ContainerReader& reader, const Ring& ring, Basis basis) {
  RnsPoly poly(ring, basis, Form::kNtt);
  std::vector<size_t> begin{0};
  for (int j = 0; j < basis.limbs(); ++j)
    begin.push_back(begin.back() + packed_bytes(ring.n(), poly.modulus(j).value));
  std::vector<uint8_t> bytes(begin.back());
  reader.read(bytes.data(), bytes.size());
  std::atomic<bool> good = true;
  parallel_for(0, static_cast<size_t>(basis.limbs()), [&](size_t j) {
    const int limb = static_cast<int>(j);
    if (!unpack_residues(poly.limb(limb), bytes.data() + begin[j], ring.n(), poly.modulus(limb).value))
      good = false;
  });
  if (!good) reader.refuse("it is damaged (a residue is not below its prime)");
  return poly;
}

}  // namespace psm::wire
