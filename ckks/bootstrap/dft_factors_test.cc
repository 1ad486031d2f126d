#include "ckks/bootstrap/dft_factors.h"

#include "ckks/base/random/training_random.h"
#include "ckks/ring/arithmetic/ntt.h"
#include "ckks/scheme/encoding/embedding.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

std::vector<Complex> bit_reversed(const std::vector<Complex>& x, int log_slots) {
  std::vector<Complex> out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[reverse_bits(i, log_slots)] = x[i];
  return out;
}

// U w.
std::vector<Complex> slots_of_coefficients(const std::vector<Complex>& w, int log_slots) {
  std::vector<double> parts;
  for (const Complex& value : w) parts.push_back(value.real());
  for (const Complex& value : w) parts.push_back(value.imag());
  std::vector<Complex> z(w.size());
  Embedding(log_slots).slots_of_coefficients(parts.data(), z);
  return z;
}

std::vector<Complex> apply(const DftFactors& factors, std::vector<Complex> x) {
  for (const DftFactor& factor : factors.factors) x = factor.matrix.apply(x);
  return x;
}

TEST_CASE("the factors of SlotsToCoeffs make slots the bit-reversed coefficients of what they leave") {
  const int log_slots = 7;
  const std::vector<Complex> z = random_slots(1, size_t{1} << log_slots);
  for (const std::vector<int>& split : {std::vector<int>{7}, {3, 4}, {2, 2, 3}, {1, 1, 1, 1, 1, 1, 1}}) {
    const DftFactors factors = slots_to_coeffs_factors(log_slots, split);
    const std::vector<Complex> slots = apply(factors, rotated(z, -factors.shift));
    CHECK(max_error(slots, slots_of_coefficients(bit_reversed(z, log_slots), log_slots)) < 1e-12);
  }
}

TEST_CASE("the factors of CoeffsToSlots bring the bit-reversed coefficients into slots") {
  const int log_slots = 7;
  const std::vector<Complex> w = random_slots(1, size_t{1} << log_slots);
  for (const std::vector<int>& split : {std::vector<int>{7}, {4, 3}, {2, 2, 2, 1}}) {
    const DftFactors factors = coeffs_to_slots_factors(log_slots, split);
    const std::vector<Complex> out = apply(factors, slots_of_coefficients(w, log_slots));
    CHECK(max_error(rotated(out, -factors.shift), bit_reversed(w, log_slots)) < 1e-12);
  }
}

TEST_CASE(
    "offsets are one-sided multiples of the step, and diagonals have the period of the largest butterfly") {
  const DftFactors up = coeffs_to_slots_factors(15, std::vector<int>{4, 4, 4, 3});
  const int steps[] = {1 << 11, 1 << 7, 1 << 3, 1}, spans[] = {16, 31, 31, 15};
  const int periods[] = {1 << 15, 1 << 11, 1 << 7, 1 << 3};
  for (int f = 0; f < 4; ++f) {
    const DftFactor& factor = up.factors[f];
    CHECK(factor.step == steps[f]);
    CHECK(factor.span == spans[f]);
    CHECK(factor.matrix.period() == periods[f]);
    CHECK(static_cast<int>(factor.matrix.diagonals().size()) == spans[f]);
    for (const auto& [offset, diagonal] : factor.matrix.diagonals()) {
      CHECK(offset % factor.step == 0);
      CHECK(offset / factor.step < factor.span);
    }
  }
}

TEST_CASE("butterflies are split evenly") {
  CHECK(split_butterflies(15, 4, true) == std::vector<int>{4, 4, 4, 3});
  CHECK(split_butterflies(15, 3, true) == std::vector<int>{5, 5, 5});
  CHECK(split_butterflies(11, 3, false) == std::vector<int>{3, 4, 4});
  // The diagonals of the last factor alone are as long as the slots are many.
  CHECK(slots_to_coeffs_butterflies(15, 3) == std::vector<int>{5, 5, 5});
  CHECK(slots_to_coeffs_butterflies(15, 2) == std::vector<int>{9, 6});
  CHECK(slots_to_coeffs_butterflies(11, 2) == std::vector<int>{5, 6});
}

}  // namespace
}  // namespace psm::ckks
