// The reference backend: every kernel in its plainest form. The others must give the same bits.
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/ring/kernels/backend_list.h"
#include "ckks/ring/kernels/ntt_scalar.h"

namespace psm::ckks {
namespace {

void add(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = add_mod(a[i], b[i], q);
}

void subtract(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = sub_mod(a[i], b[i], q);
}

void multiply(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = mul_mod(a[i], b[i], q);
}

void multiply_add(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = reduce_wide(uint128_t{a[i]} * b[i] + out[i], q);
}

void scale(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = mul_mod(a[i], c, q);
}

void scale_add(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = add_mod(out[i], mul_mod(a[i], c, q), q);
}

void subtract_scale(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, size_t n,
                    const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = mul_mod(a[i] + q.value - b[i], c, q);
}

void subtract_scale_add(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, const uint64_t* d,
                        size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = add_mod(mul_mod(a[i] + q.value - b[i], c, q), d[i], q);
}

void tensor_product(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                    const uint64_t* const* a1, const uint64_t* const* b0, const uint64_t* const* b1,
                    size_t count, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) {
    uint128_t sum0 = 0, sum1 = 0, sum2 = 0;
    for (size_t k = 0; k < count; ++k) {
      sum0 += uint128_t{a0[k][i]} * b0[k][i];
      sum1 += uint128_t{a0[k][i]} * b1[k][i] + uint128_t{a1[k][i]} * b0[k][i];
      sum2 += uint128_t{a1[k][i]} * b1[k][i];
    }
    out0[i] = reduce_wide(sum0, q);
    out1[i] = reduce_wide(sum1, q);
    out2[i] = reduce_wide(sum2, q);
  }
}

// Residue i of `bits` bits: eight bytes from where it begins hold it, as 7 + 50 bits are fewer than 64.
uint64_t packed_residue(const uint8_t* packed, size_t i, int bits) {
  const size_t bit = i * static_cast<size_t>(bits);
  uint64_t word = 0;
  for (int k = 0; k < 8; ++k) word |= static_cast<uint64_t>(packed[bit / 8 + k]) << (8 * k);
  return (word >> (bit % 8)) & ((uint64_t{1} << bits) - 1);
}

void packed_inner_product_pair(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                               const uint8_t* const* b0, const uint8_t* const* b1, size_t count, size_t n,
                               const Modulus& q) {
  for (size_t i = 0; i < n; ++i) {
    uint128_t sum0 = 0, sum1 = 0;
    for (size_t k = 0; k < count; ++k) {
      sum0 += uint128_t{a[k][i]} * packed_residue(b0[k], i, q.bits);
      sum1 += uint128_t{a[k][i]} * packed_residue(b1[k], i, q.bits);
    }
    out0[i] = reduce_wide(sum0, q);
    out1[i] = reduce_wide(sum1, q);
  }
}

void basis_convert(uint64_t* const* out, size_t out_count, const uint64_t* const* y, size_t in_count,
                   const uint64_t* c, const Modulus* p, size_t n) {
  for (size_t j = 0; j < out_count; ++j) {
    for (size_t i = 0; i < n; ++i) {
      // y may exceed p: 64-bit halves are kept apart so that any 2^50 * 2^50 products can be summed.
      uint128_t sum = 0;
      for (size_t k = 0; k < in_count; ++k) sum += uint128_t{y[k][i]} * c[j * in_count + k];
      const uint64_t high = reduce_mod(static_cast<uint64_t>(sum >> 52), p[j]);
      const uint64_t low = static_cast<uint64_t>(sum) & ((uint64_t{1} << 52) - 1);
      out[j][i] = reduce_wide((uint128_t{high} << 52) + low, p[j]);
    }
  }
}

void nearest_multiples(uint64_t* u, const uint64_t* const* y, const double* reciprocals, size_t count,
                       size_t n) {
  for (size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += static_cast<double>(y[i][k]) * reciprocals[i];
    u[k] = static_cast<uint64_t>((sum + 0x1p52) - 0x1p52);  // above 2^52 all doubles are integers
  }
}

void reduce_centered(uint64_t* out, const uint64_t* a, size_t n, const Modulus& from, const Modulus& to) {
  for (size_t i = 0; i < n; ++i) out[i] = reduce_signed(centered(a[i], from), to);
}

void automorphism(uint64_t* out, const uint64_t* a, const AutomorphismView& table) {
  for (size_t block = 0; block < table.n / 8; ++block) {
    const uint64_t* source = a + 8 * (table.blocks[block] / 8 - table.first_block);
    const uint64_t* place = table.permutations[table.blocks[block] % 8];
    for (size_t i = 0; i < 8; ++i) out[8 * block + i] = source[place[i]];
  }
}

void matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                    const uint64_t* const* c, size_t run, size_t n, const Modulus& q, bool accumulate) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < n; ++i) {
      uint128_t sum = accumulate ? out[r][i] : 0;
      for (size_t k = 0; k < cols; ++k) sum += uint128_t{a[k][i]} * c[r * cols + k][i / run];
      out[r][i] = reduce_wide(sum, q);
    }
  }
}

void run_matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                        const uint64_t* c, size_t run, size_t n, const Modulus& q, bool accumulate) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t* matrix = c + i / run * rows * cols;
      uint128_t sum = accumulate ? out[r][i] : 0;
      for (size_t k = 0; k < cols; ++k) sum += uint128_t{a[k][i]} * matrix[matrix_constant(rows, cols, r, k)];
      out[r][i] = reduce_wide(sum, q);
    }
  }
}

}  // namespace
}  // namespace psm::ckks

#include "ckks/ring/kernels/kernel_table.h"

namespace psm::ckks {

constinit const Kernels kScalarKernels = table_of_kernels("scalar");

}  // namespace psm::ckks
