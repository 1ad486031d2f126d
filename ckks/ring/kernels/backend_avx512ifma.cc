// The AVX-512-IFMA backend: eight residues at a time; see avx512ifma.h for the arithmetic and its ranges.
#include "ckks/ring/kernels/avx512ifma.h"
#include "ckks/ring/kernels/backend_list.h"
#include "ckks/ring/kernels/ntt_avx512ifma.h"
#include "ckks/ring/kernels/run_matrix_product_avx512ifma.h"

namespace psm::ckks {
namespace {

void nearest_multiples(uint64_t* u, const uint64_t* const* y, const double* reciprocals, size_t count,
                       size_t n) {
  const __m512d magic = _mm512_set1_pd(0x1p52);  // an integer below it is the low bits of the sum with it
  const Vector exponent = broadcast(uint64_t{0x433} << 52);
  for (size_t k = 0; k < n; k += 8) {
    __m512d sum = _mm512_setzero_pd();
    for (size_t i = 0; i < count; ++i) {
      const Vector shifted = _mm512_or_si512(load(y[i] + k), exponent);
      const __m512d value = _mm512_sub_pd(_mm512_castsi512_pd(shifted), magic);
      sum = _mm512_add_pd(sum, _mm512_mul_pd(value, _mm512_set1_pd(reciprocals[i])));
    }
    store(u + k, _mm512_xor_si512(_mm512_castpd_si512(_mm512_add_pd(sum, magic)), exponent));
  }
}

void reduce_centered(uint64_t* out, const uint64_t* a, size_t n, const Modulus& from, const Modulus& to) {
  const VectorModulus m = broadcast(to);
  const Vector half = broadcast(from.value / 2), from_q = broadcast(from.value);
  for (size_t i = 0; i < n; i += 8) {
    const Vector x = load(a + i);
    const __mmask8 negative = _mm512_cmpgt_epu64_mask(x, half);
    // The magnitude is reduced; a negative residue r becomes q - r, and q itself zero.
    const Vector r = multiply(_mm512_mask_sub_epi64(x, negative, from_q, x), m.one, m);
    store(out + i, subtract_if_at_least(_mm512_mask_sub_epi64(r, negative, m.value, r), m.value));
  }
}

void automorphism(uint64_t* out, const uint64_t* a, const AutomorphismView& table) {
  Vector places[8];
#pragma GCC unroll 8
  for (int s = 0; s < 8; ++s) places[s] = load(table.permutations[s]);
  for (size_t block = 0; block < table.n / 8; ++block) {
    const uint32_t entry = table.blocks[block];
    store(out + 8 * block,
          _mm512_permutexvar_epi64(places[entry % 8], load(a + 8 * (entry / 8 - table.first_block))));
  }
}

}  // namespace
}  // namespace psm::ckks

#include "ckks/ring/kernels/kernel_table.h"

namespace psm::ckks {

constinit const Kernels kAvx512IfmaKernels = table_of_kernels("avx512ifma");

}  // namespace psm::ckks
