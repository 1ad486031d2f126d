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
  static const Ring ring(kLogN,
                         {prime_near(0x1p40, kLogN), prime_near(0x1.1p40, kLogN), prime_near(0x1.2p40, kLogN),
                          prime_near(0x1.3p40, kLogN)},
                         {prime_near(0x1p45, kLogN), prime_near(0x1.1p45, kLogN)});
  return ring;
}

using int128 = __int128;

uint64_t residue(int128 x, const Modulus& m) {
  const int128 r = x % static_cast<int128>(m.value);
  return static_cast<uint64_t>(r < 0 ? r + m.value : r);
}

// Converts the integers `x` from the given sources; returns the targets' residues, limb after limb.
std::vector<uint64_t> convert(const BasisConverter& converter, const std::vector<int128>& x) {
  std::vector<uint64_t> y(converter.source_count() * kN), out(converter.target_count() * kN);
  for (int i = 0; i < converter.source_count(); ++i) {
    const Modulus& m = ring().modulus(converter.source(i));
    uint64_t* const limb = y.data() + i * kN;
    for (size_t k = 0; k < kN; ++k) limb[k] = residue(x[k], m);
    kernels().ntt_forward(limb, limb, ring().ntt(converter.source(i)));
    kernels().ntt_inverse(limb, limb, converter.inverse_transform(i));
  }
  converter.convert(out.data(), y.data(), kN, 0, kN);
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
      CHECK(out[j * kN + k] == residue(x[k], ring().q(j)));
    }
  }
}

}  // namespace psm::ckks
