// Test vectors, and precision as the bits of the error.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace psm::ckks {

// n numbers uniform in [-1, 1] + i [-1, 1]; the same for the same seed.
std::vector<std::complex<double>> uniform_vector(int n, uint64_t seed);

// Bits of precision over the real and the imaginary parts: -log2 of the mean and of the largest |error|.
struct Precision {
  double mean, worst;
};
Precision precision(const std::vector<std::complex<double>>& computed,
                    const std::vector<std::complex<double>>& expected);

}  // namespace psm::ckks
