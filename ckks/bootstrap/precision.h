// Test vectors, and precision as the bits of the error.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <vector>

namespace psm::ckks {

// n numbers uniform in [-1, 1] + i [-1, 1]; the same for the same seed.
inline std::vector<std::complex<double>> uniform_vector(int n, uint64_t seed) {
  uint64_t state = seed;  // a linear congruential generator is enough here
  const auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state >> 11) * 0x1p-52 - 1;
  };
  std::vector<std::complex<double>> x(n);
  for (auto& value : x) {
    const double re = next();
    value = {re, next()};
  }
  return x;
}

// Bits of precision over the real and the imaginary parts: -log2 of the mean and of the largest |error|.
struct Precision {
  double mean, worst;
};
inline Precision precision(const std::vector<std::complex<double>>& computed,
                           const std::vector<std::complex<double>>& expected) {
  double sum = 0, largest = 0;
  for (size_t j = 0; j < computed.size(); ++j) {
    const double re = std::abs(computed[j].real() - expected[j].real());
    const double im = std::abs(computed[j].imag() - expected[j].imag());
    sum += (re + im) / 2;
    largest = std::max({largest, re, im});
  }
  return {-std::log2(sum / static_cast<double>(computed.size())), -std::log2(largest)};
}

}  // namespace psm::ckks
