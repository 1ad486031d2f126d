// The AVX2 backend: four residues at a time in doubles; see avx2.h for the arithmetic and its ranges.
#include "ckks/ring/kernels/avx2.h"
#include "ckks/ring/kernels/backend_list.h"
#include "ckks/ring/kernels/ntt_avx2.h"

namespace psm::ckks {
namespace {

// One product alone needs no wide sums.
void one_or_more_tensor_products(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                                 const uint64_t* const* a1, const uint64_t* const* b0,
                                 const uint64_t* const* b1, size_t count, size_t n, const Modulus& modulus) {
  if (count != 1) return tensor_product(out0, out1, out2, a0, a1, b0, b1, count, n, modulus);
  const DoubleModulus m = broadcast(modulus);
  for (size_t i = 0; i < n; i += 4) {
    const Doubles x0 = load_residues(*a0 + i), x1 = load_residues(*a1 + i);
    const Doubles y0 = load_residues(*b0 + i), y1 = load_residues(*b1 + i);
    const Doubles middle = _mm256_add_pd(multiply(x0, y1, m), multiply(x1, y0, m));
    store_residues(out0 + i, product(x0, y0, m));
    store_residues(out1 + i, canonical(middle, m));
    store_residues(out2 + i, product(x1, y1, m));
  }
}

void nearest_multiples(uint64_t* u, const uint64_t* const* y, const double* reciprocals, size_t count,
                       size_t n) {
  for (size_t k = 0; k < n; k += 4) {
    Doubles sum = _mm256_setzero_pd();
    for (size_t i = 0; i < count; ++i) {
      sum = _mm256_add_pd(sum, _mm256_mul_pd(load_residues(y[i] + k), _mm256_set1_pd(reciprocals[i])));
    }
    store_residues(u + k, sum);  // rounded to an integer by its addition of 2^52
  }
}

void reduce_centered(uint64_t* out, const uint64_t* a, size_t n, const Modulus& from, const Modulus& to) {
  const DoubleModulus m = broadcast(to);
  const Doubles half = broadcast_residue(from.value / 2), from_q = broadcast_residue(from.value);
  for (size_t i = 0; i < n; i += 4) {
    const Doubles x = load_residues(a + i);
    const Doubles above = _mm256_cmp_pd(x, half, _CMP_GT_OQ);
    store_residues(out + i, canonical(_mm256_sub_pd(x, _mm256_and_pd(above, from_q)), m));
  }
}

// brv_3(i') = g brv_3(i) + s with an odd g (automorphism.h), so the lowest bits of brv_3(i) and brv_3(i') differ
// by s alone: each half of a block comes from one half of its source.
void automorphism(uint64_t* out, const uint64_t* a, const AutomorphismView& table) {
  __m256i places[8][2];  // of the 32-bit halves of four residues
  for (int s = 0; s < 8; ++s) {
    for (int half = 0; half < 2; ++half) {
      const __m256i place =
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(table.permutations[s] + 4 * half));
      const __m256i low = _mm256_slli_epi64(_mm256_and_si256(place, _mm256_set1_epi64x(3)), 1);
      const __m256i high = _mm256_slli_epi64(_mm256_or_si256(low, _mm256_set1_epi64x(1)), 32);
      places[s][half] = _mm256_or_si256(low, high);
    }
  }
  for (size_t block = 0; block < table.n / 8; ++block) {
    const uint32_t entry = table.blocks[block], s = entry % 8;
    const uint64_t* source = a + 8 * (entry / 8 - table.first_block);
    for (size_t half = 0; half < 2; ++half) {
      const size_t from = table.permutations[s][4 * half] & 4;
      const __m256i residues = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + from));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 8 * block + 4 * half),
                          _mm256_permutevar8x32_epi32(residues, places[s][half]));
    }
  }
}

}  // namespace
}  // namespace psm::ckks

#include "ckks/ring/kernels/kernel_table.h"

namespace psm::ckks {

constinit const Kernels kAvx2Kernels = [] {
  Kernels all = table_of_kernels("avx2");
  all.tensor_product = one_or_more_tensor_products;
  return all;
}();

}  // namespace psm::ckks
