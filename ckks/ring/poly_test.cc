#include "ckks/ring/poly.h"

#include <algorithm>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/child.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/basis_conversion.h"
#include "ckks/ring/kernels/backend.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

constexpr int kLogN = 6;
constexpr size_t kN = size_t{1} << kLogN;

const Ring& ring() {
  static const Ring ring(kLogN,
                         {prime_near(0x1p40, kLogN), prime_near(0x1.1p40, kLogN), prime_near(0x1.2p40, kLogN),
                          prime_near(0x1.3p40, kLogN)},
                         {prime_near(0x1p50, kLogN), prime_near(0x1.fp49, kLogN)});
  return ring;
}

RnsPoly random_poly(Basis basis, uint64_t seed) {
  RnsPoly a(ring(), basis, Form::kCoefficient);
  TrainingRandom random(seed);
  for (int j = 0; j < a.limbs(); ++j) {
    for (size_t i = 0; i < kN; ++i) a.limb(j)[i] = random.integer(a.modulus(j).value);
  }
  return a;
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

TEST_CASE("limb j belongs to q_j, and past those to the special primes, whatever the level") {
  const RnsPoly a(ring(), {2, 1}, Form::kNtt);
  CHECK(a.modulus(0).value == ring().q(0).value);
  CHECK(a.modulus(1).value == ring().q(1).value);
  CHECK(a.modulus(2).value == ring().p(0).value);
}

TEST_CASE("products in NTT form are products modulo X^N + 1") {
  const Basis basis{3, 2};
  RnsPoly a = random_poly(basis, 1), b = random_poly(basis, 2);
  RnsPoly expected = RnsPoly::zero(ring(), basis, Form::kCoefficient);
  for (int j = 0; j < a.limbs(); ++j) {
    const Modulus& m = a.modulus(j);
    for (size_t i = 0; i < kN; ++i) {
      for (size_t k = 0; k < kN; ++k) {
        const uint64_t product = mul_mod(a.limb(j)[i], b.limb(j)[k], m);
        uint64_t& at = expected.limb(j)[(i + k) % kN];
        at = i + k < kN ? add_mod(at, product, m) : sub_mod(at, product, m);
      }
    }
  }
  to_ntt(a);
  to_ntt(b);
  RnsPoly product(ring(), basis, Form::kNtt);
  multiply(product, a, b);
  RnsPoly twice = product.clone();
  multiply_add(twice, a, b);
  subtract(twice, twice, product);
  CHECK(same_bits(twice, product));
  to_coefficients(product);
  CHECK(same_bits(product, expected));
}

TEST_CASE("clones are equal and independent; a prefix keeps the special limbs it asks for") {
  const RnsPoly a = random_poly({3, 2}, 6);
  RnsPoly b = a.clone();
  CHECK(same_bits(a, b));
  b.limb(0)[0] ^= 1;
  CHECK_FALSE(same_bits(a, b));
  const RnsPoly prefix = a.clone_prefix({1, 2});
  CHECK(prefix.limbs() == 3);
  CHECK(prefix.limb(0)[7] == a.limb(0)[7]);
  CHECK(prefix.limb(1)[7] == a.limb(3)[7]);
  CHECK(prefix.limb(2)[7] == a.limb(4)[7]);
}

TEST_CASE("what is computed or copied from a secret is wiped as well, or does not come about") {
  const Basis basis{1, 0};
  RnsPoly secret = RnsPoly::secret(ring(), basis, Form::kNtt);
  const RnsPoly public_one(ring(), basis, Form::kNtt);
  // Wiped memory is taken from pages of its own: the next secret lies where the last one was.
  const auto is_wiped = [&](RnsPoly poly) {
    const uint64_t* const place = poly.limb(0);
    poly = RnsPoly();
    return RnsPoly::secret(ring(), basis, Form::kNtt).limb(0) == place;
  };
  std::fill_n(secret.limb(0), kN, uint64_t{1});
  CHECK_FALSE(is_wiped(public_one.clone()));
  CHECK(is_wiped(secret.clone()));
  CHECK(is_wiped(automorphism(secret, 5)));
  CHECK(is_stopped([&] { secret.in(nullptr); }));
}

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
