#include "ckks/bootstrap/precision.h"

#include <algorithm>
#include <cmath>

namespace psm::ckks {

std::vector<std::complex<double>> uniform_vector(int n, uint64_t seed) {
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

Precision precision(const std::vector<std::complex<double>>& computed,
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
