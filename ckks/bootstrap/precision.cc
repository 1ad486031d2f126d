#include "ckks/bootstrap/precision.h"

#include <algorithm>
#include <cmath>

namespace psm {

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

std::vector<std::complex<double>> log_uniform_vector(int n, int octaves, uint64_t seed) {
  std::vector<std::complex<double>> x = uniform_vector(n, seed);
  const auto spread = [&](double u) { return std::copysign(std::exp2(-octaves * std::abs(u)), u); };
  for (auto& value : x) value = {spread(value.real()), spread(value.imag())};
  return x;
}

namespace {

// error(computed, expected) over the real and the imaginary parts.
template <typename Error>
Precision precision_of(const std::vector<std::complex<double>>& computed,
                       const std::vector<std::complex<double>>& expected, const Error& error) {
  double sum = 0, largest = 0;
  for (size_t j = 0; j < computed.size(); ++j) {
    const double re = error(computed[j].real(), expected[j].real());
    const double im = error(computed[j].imag(), expected[j].imag());
    sum += (re + im) / 2;
    largest = std::max({largest, re, im});
  }
  return {-std::log2(sum / static_cast<double>(computed.size())), -std::log2(largest)};
}

}  // namespace

Precision precision(const std::vector<std::complex<double>>& computed,
                    const std::vector<std::complex<double>>& expected) {
  return precision_of(computed, expected, [](double c, double e) { return std::abs(c - e); });
}

Precision relative_precision(const std::vector<std::complex<double>>& computed,
                             const std::vector<std::complex<double>>& expected) {
  return precision_of(computed, expected,
                      [](double c, double e) { return e == 0 ? 0 : std::abs(c / e - 1); });
}

}  // namespace psm
