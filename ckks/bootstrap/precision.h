// Test vectors, and precision as the bits of the error.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace psm {

// n numbers uniform in [-1, 1] + i [-1, 1]; the same for the same seed.
std::vector<std::complex<double>> uniform_vector(int n, uint64_t seed);

// n numbers whose real and imaginary parts span so many octaves below 1: uniform logarithms, either sign.
std::vector<std::complex<double>> log_uniform_vector(int n, int octaves, uint64_t seed);

// Bits of precision over the real and the imaginary parts: -log2 of the mean and of the largest |error|.
struct Precision {
  double mean, worst;
};
Precision precision(const std::vector<std::complex<double>>& computed,
                    const std::vector<std::complex<double>>& expected);
// The same of errors divided by the size of the part that they are in; parts that are expected to be 0 have
// none.
Precision relative_precision(const std::vector<std::complex<double>>& computed,
                             const std::vector<std::complex<double>>& expected);

}  // namespace psm
