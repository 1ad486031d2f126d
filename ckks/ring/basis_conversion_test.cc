#include "ckks/ring/basis_conversion.h"

#include "ckks/base/random/training_random.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/kernels/backend.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

constexpr int kLogN = 5;
constexpr size_t kN = size_t{1} << kLogN;

const Ring& ring() {
  static const Ring ring(kLogN, ntt_primes(40, kLogN, 4), ntt_primes(45, kLogN, 2));
  return ring;
}

using int128 = __int128;

uint64_t residue(int128 x, const Modulus& m) {
  const int128 r = x % static_cast<int128>(m.value);
  return static_cast<uint64_t>(r < 0 ? r + m.value : r);
}

// Converts the integers `x` from the given sources; returns the targets' residues.
std::vector<std::vector<uint64_t>> convert(const BasisConverter& converter, const std::vector<int128>& x) {
  std::vector<std::vector<uint64_t>> y(converter.source_count(), std::vector<uint64_t>(kN));
  std::vector<std::vector<uint64_t>> out(converter.target_count(), std::vector<uint64_t>(kN));
  std::vector<const uint64_t*> in_pointers;
  std::vector<uint64_t*> out_pointers;
  for (int i = 0; i < converter.source_count(); ++i) {
    const Modulus& m = ring().modulus(converter.source(i));
    for (size_t k = 0; k < kN; ++k) y[i][k] = residue(x[k], m);
    kernels().ntt_forward(y[i].data(), y[i].data(), ring().ntt(converter.source(i)));
    kernels().ntt_inverse(y[i].data(), y[i].data(), converter.inverse_transform(i));
    in_pointers.push_back(y[i].data());
  }
  for (auto& limb : out) out_pointers.push_back(limb.data());
  converter.convert(out_pointers.data(), in_pointers.data(), 0, kN);
  return out;
}

}  // namespace

TEST_CASE("a conversion gives the residues of the representative nearest to zero") {
  const BasisConverter converter(ring(), {4, 5}, {0, 1, 2, 3});
  const int128 product = static_cast<int128>(ring().p(0).value) * ring().p(1).value;
  TrainingRandom random(1);
  std::vector<int128> x(kN);
  for (auto& value : x) {
    const int128 wide =
        (static_cast<int128>(random.next_u64()) << 62) ^ static_cast<int128>(random.next_u64());
    value = wide % (product / 2 - (product >> 40));
    if (random.integer(2) == 1) value = -value;
  }
  x[0] = 0;
  x[1] = -1;
  x[2] = product / 2 - (product >> 44);
  x[3] = -x[2];
  const auto out = convert(converter, x);
  for (int j = 0; j < 4; ++j) {
    for (size_t k = 0; k < kN; ++k) {
      CAPTURE(j);
      CAPTURE(k);
      CHECK(out[j][k] == residue(x[k], ring().q(j)));
    }
  }
}

TEST_CASE("the inverse product of the sources undoes their product modulo the targets") {
  const BasisConverter converter(ring(), {4, 5}, {0, 3});
  for (int j = 0; j < 2; ++j) {
    const Modulus& m = ring().modulus(converter.target(j));
    const uint64_t expected = mul_mod(reduce_mod(ring().p(0).value, m), reduce_mod(ring().p(1).value, m), m);
    CHECK(mul_mod(converter.inverse_product(j).value, expected, m) == 1);
  }
}

}  // namespace psm::ckks
