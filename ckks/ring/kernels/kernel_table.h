// The table of a backend's kernels. Each backend includes this behind its functions, which have the names of the
// table's members.
#pragma once

#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {
namespace {

constexpr Kernels table_of_kernels(const char* name) {
  return {
      .name = name,
      .ntt_forward = ntt_forward,
      .ntt_inverse = ntt_inverse,
      .add = add,
      .subtract = subtract,
      .multiply = multiply,
      .multiply_add = multiply_add,
      .scale = scale,
      .scale_add = scale_add,
      .subtract_scale = subtract_scale,
      .subtract_scale_add = subtract_scale_add,
      .tensor_product = tensor_product,
      .packed_inner_product_pair = packed_inner_product_pair,
      .basis_convert = basis_convert,
      .nearest_multiples = nearest_multiples,
      .reduce_centered = reduce_centered,
      .automorphism = automorphism,
      .matrix_product = matrix_product,
      .run_matrix_product = run_matrix_product,
  };
}

}  // namespace
}  // namespace psm::ckks
