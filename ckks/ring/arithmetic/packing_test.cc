#include "ckks/ring/arithmetic/packing.h"

#include <vector>

#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

std::vector<uint64_t> residues_below(uint64_t q, size_t n) {
  std::vector<uint64_t> out(n);
  uint64_t state = 88172645463325252u;
  for (auto& r : out) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    r = state % q;
  }
  out[0] = 0, out[1] = q - 1;
  return out;
}

TEST_CASE("packed residues come back as they were, in as many bits as the prime has") {
  for (uint64_t q : {uint64_t{3}, uint64_t{257}, (uint64_t{1} << 40) - 87, (uint64_t{1} << 50) - 27,
                     (uint64_t{1} << 57) - 13}) {
    const size_t n = 64;
    const auto residues = residues_below(q, n);
    std::vector<uint8_t> bytes(packed_bytes(n, q) + 1, 0xa5);
    pack_residues(bytes.data(), residues.data(), n, q);
    CHECK(bytes.back() == 0xa5);
    CHECK(packed_bytes(n, q) * 8 == n * static_cast<size_t>(bit_length(q)));
    std::vector<uint64_t> back(n);
    CHECK(unpack_residues(back.data(), bytes.data(), n, q));
    CHECK(back == residues);
  }
}

TEST_CASE("a residue that is not below its prime is noticed") {
  const uint64_t q = 257;
  const size_t n = 8;
  std::vector<uint64_t> residues(n, 5), back(n);
  residues[3] = 300;  // fits the nine bits of 256
  std::vector<uint8_t> bytes(packed_bytes(n, q));
  pack_residues(bytes.data(), residues.data(), n, q);
  CHECK_FALSE(unpack_residues(back.data(), bytes.data(), n, q));
}

}  // namespace
}  // namespace psm::ckks
