// A small ring for doing the scheme by hand: N = 64, one prime q of 49 bits. Polynomials are kept as
// transforms (lesson 1), so products are residue by residue. Randomness comes from a seed, so that a lesson
// prints the same each time; a real secret must never come from a seed.
#pragma once

#include <cmath>
#include <complex>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/ring/arithmetic/primes.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/encoding/embedding.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson::toy {

using Poly = std::vector<uint64_t>;
using Slots = std::vector<std::complex<double>>;
struct Pair {  // encrypts m: c_0 + c_1 s = m + e
  Poly c0, c1;
};

inline constexpr int kLogN = 6, kN = 1 << kLogN, kSlots = kN / 2;
inline const NttTables ntt(kLogN, Modulus(prime_near(0x1p49, kLogN)));
inline const Modulus& q = ntt.modulus();
inline const Embedding embedding(kLogN - 1);
inline TrainingRandom dice(1);

template <typename Operation>
Poly each(const Poly& a, const Poly& b, Operation&& operation) {
  Poly out(kN);
  for (int j = 0; j < kN; ++j) out[j] = operation(a[j], b[j]);
  return out;
}
inline Poly operator+(const Poly& a, const Poly& b) {
  return each(a, b, [](uint64_t x, uint64_t y) { return add_mod(x, y, q); });
}
inline Poly operator-(const Poly& a, const Poly& b) {
  return each(a, b, [](uint64_t x, uint64_t y) { return sub_mod(x, y, q); });
}
inline Poly operator*(const Poly& a, const Poly& b) {
  return each(a, b, [](uint64_t x, uint64_t y) { return mul_mod(x, y, q); });
}

// The transform of coefficient(0), ..., coefficient(N - 1), rounded.
template <typename Coefficient>
Poly polynomial(Coefficient&& coefficient) {
  Poly a(kN);
  for (int k = 0; k < kN; ++k) a[k] = reduce_signed(std::llround(coefficient(k)), q);
  kernels().ntt_forward(a.data(), a.data(), ntt);
  return a;
}
inline Poly coefficients(Poly a) {
  kernels().ntt_inverse(a.data(), a.data(), ntt);
  return a;
}

inline Poly encode(const Slots& z, double scale) {
  std::vector<double> real(kN);
  embedding.coefficients_of_slots(z, real.data());
  return polynomial([&](int k) { return real[k] * scale; });
}
inline Slots decode(const Poly& a, double scale) {
  std::vector<double> real;
  for (uint64_t c : coefficients(a))
    real.push_back(static_cast<double>(centered(c, q)) / scale);
  Slots z(kSlots);
  embedding.slots_of_coefficients(real.data(), z);
  return z;
}

inline Poly ternary() {
  return polynomial([](int) { return static_cast<double>(dice.integer(3)) - 1; });
}
inline Poly gaussian(double deviation) {
  return polynomial([=](int) { return deviation * dice.normal(); });
}
inline Poly uniform() {
  Poly a(kN);
  for (uint64_t& x : a) x = dice.integer(q.value);
  return a;
}
inline Slots random_slots() {
  Slots z(kSlots);
  for (auto& value : z) value = {dice.uniform(-1, 1), dice.uniform(-1, 1)};
  return z;
}

}  // namespace psm::lesson::toy
