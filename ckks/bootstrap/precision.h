// Precision as the bits of the error.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <vector>

namespace psm::ckks {

// Over the real and the imaginary parts: -log2 of the mean and of the largest |error|.
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
