// Matrices and vectors for tests of maps on slots.
#pragma once

#include <random>

#include "ckks/program/program.h"
#include "nn/encrypted/dense_linear.h"

namespace psm::nn {

// Normal entries.
SlotMatrix random_matrix(int rows, int columns, std::mt19937_64& random);
std::vector<ckks::Complex> random_vector(int features, std::mt19937_64& random);

// W x by real parts: the definition.
std::vector<ckks::Complex> product(const SlotMatrix& w, const std::vector<ckks::Complex>& x);

// Blocks of x in the places of the stack, repeated in all slots.
std::vector<ckks::Complex> stacked(const std::vector<ckks::Complex>& x, const Stack& stack, int features,
                                   size_t slots);

}  // namespace psm::nn
