// Matrices and vectors for tests of maps on slots.
#pragma once

#include <random>
#include <vector>

#include "ckks/program/program.h"
#include "nn/encrypted/dense_linear.h"

namespace psm::nn {

// Normal entries.
inline SlotMatrix random_matrix(int rows, int columns, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  SlotMatrix w{rows, columns, std::vector<double>(4 * static_cast<size_t>(rows * columns))};
  for (double& entry : w.entries) entry = normal(random);
  return w;
}

inline std::vector<ckks::Complex> random_vector(size_t count, std::mt19937_64& random, bool real = false) {
  std::normal_distribution<double> normal;
  std::vector<ckks::Complex> x(count);
  for (ckks::Complex& z : x) z = {normal(random), real ? 0.0 : normal(random)};
  return x;
}

// W x by real parts: the definition.
inline std::vector<ckks::Complex> product(const SlotMatrix& w, const std::vector<ckks::Complex>& x) {
  std::vector<ckks::Complex> y(static_cast<size_t>(w.rows));
  const size_t width = 2 * static_cast<size_t>(w.columns);
  for (size_t row = 0; row < y.size(); ++row)
    for (size_t c = 0; c < x.size(); ++c) {
      const double* at = w.entries.data() + 2 * row * width + 2 * c;
      y[row] += ckks::Complex(at[0] * x[c].real() + at[1] * x[c].imag(),
                              at[width] * x[c].real() + at[width + 1] * x[c].imag());
    }
  return y;
}

// Blocks of x in the places of the stack, repeated in all slots.
inline std::vector<ckks::Complex> stacked(const std::vector<ckks::Complex>& x, const Stack& stack,
                                          int features, size_t slots) {
  std::vector<ckks::Complex> all(slots);
  for (size_t s = 0; s < slots; ++s) {
    const int block = stack[s / features % stack.size()];
    if (block >= 0) all[s] = x[static_cast<size_t>(block) * features + s % features];
  }
  return all;
}

}  // namespace psm::nn
