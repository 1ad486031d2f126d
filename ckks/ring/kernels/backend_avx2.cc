// The AVX2 backend: four residues at a time in doubles; see avx2.h for the arithmetic and its ranges. What
// moves or compares words alone is left to the reference or to the compiler's vectors.
#include "ckks/ring/kernels/avx2.h"
#include "ckks/ring/kernels/backend_list.h"
#include "ckks/ring/kernels/ntt_avx2.h"

namespace psm::ckks {
namespace {

// x + q where x, taken with a sign, is below zero, else x; without a branch: residues may be secret.
inline uint64_t add_if_negative(uint64_t x, uint64_t q) { return x + (q & (0 - (x >> 63))); }

void add(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const uint64_t q = modulus.value;
  for (size_t i = 0; i < n; ++i) out[i] = add_if_negative(a[i] + b[i] - q, q);
}

void subtract(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const uint64_t q = modulus.value;
  for (size_t i = 0; i < n; ++i) out[i] = add_if_negative(a[i] - b[i], q);
}

void negate(uint64_t* out, const uint64_t* a, size_t n, const Modulus& modulus) {
  const uint64_t q = modulus.value;
  for (size_t i = 0; i < n; ++i) out[i] = add_if_negative(0 - a[i], q);
}

void multiply_limbs(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  for (size_t i = 0; i < n; i += 4) {
    store_integers(out + i, canonical(multiply(load_residues(a + i), load_residues(b + i), m), m));
  }
}

void multiply_add(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  for (size_t i = 0; i < n; i += 4) {
    const Doubles product = multiply(load_residues(a + i), load_residues(b + i), m);
    store_integers(out + i, canonical(_mm256_add_pd(product, load_residues(out + i)), m));
  }
}

void scale(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  const Doubles w = broadcast_residue(c.value);
  for (size_t i = 0; i < n; i += 4)
    store_integers(out + i, canonical(multiply(load_residues(a + i), w, m), m));
}

void scale_add(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  const Doubles w = broadcast_residue(c.value);
  for (size_t i = 0; i < n; i += 4) {
    const Doubles product = multiply(load_residues(a + i), w, m);
    store_integers(out + i, canonical(_mm256_add_pd(product, load_residues(out + i)), m));
  }
}

void subtract_scale(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, size_t n,
                    const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  const Doubles w = broadcast_residue(c.value);
  for (size_t i = 0; i < n; i += 4) {
    const Doubles difference = _mm256_sub_pd(load_residues(a + i), load_residues(b + i));
    store_integers(out + i, canonical(multiply(difference, w, m), m));
  }
}

void subtract_scale_add(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, const uint64_t* d,
                        size_t n, const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  const Doubles w = broadcast_residue(c.value);
  for (size_t i = 0; i < n; i += 4) {
    const Doubles difference = _mm256_sub_pd(load_residues(a + i), load_residues(b + i));
    const Doubles sum = _mm256_add_pd(multiply(difference, w, m), load_residues(d + i));
    store_integers(out + i, canonical(sum, m));
  }
}

// A sum of products: each at most 7/8 q, so that four of them on a reduced rest stay below 4q.
struct Sum {
  static constexpr size_t kMaxProducts = 4;
  Doubles value;

  void add_product(Doubles x, Doubles w, const DoubleModulus& m) {
    value = _mm256_add_pd(value, multiply(x, w, m));
  }
  void fold(size_t products, const DoubleModulus& m) {
    if (products % kMaxProducts == 0) value = reduce(value, m);
  }
};

void tensor_product(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                    const uint64_t* const* a1, const uint64_t* const* b0, const uint64_t* const* b1,
                    size_t count, size_t n, const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  for (size_t i = 0; i < n; i += 4) {
    Sum sum0{_mm256_setzero_pd()}, sum1{_mm256_setzero_pd()}, sum2{_mm256_setzero_pd()};
    for (size_t k = 0; k < count; ++k) {
      const Doubles x0 = load_residues(a0[k] + i), x1 = load_residues(a1[k] + i);
      const Doubles y0 = load_residues(b0[k] + i), y1 = load_residues(b1[k] + i);
      sum0.add_product(x0, y0, m);
      sum0.fold(k + 1, m);
      sum1.add_product(x0, y1, m);
      sum1.add_product(x1, y0, m);
      sum1.fold(2 * (k + 1), m);
      sum2.add_product(x1, y1, m);
      sum2.fold(k + 1, m);
    }
    store_integers(out0 + i, canonical(sum0.value, m));
    store_integers(out1 + i, canonical(sum1.value, m));
    store_integers(out2 + i, canonical(sum2.value, m));
  }
}

// Four residues of `bits` bits from residue `first` on: the eight bytes from where one begins hold it.
inline Doubles load_packed(const uint8_t* packed, size_t first, int bits) {
  const size_t bit = first * static_cast<size_t>(bits);
  const uint8_t* from = packed + bit / 8;
  const __m256i at = _mm256_add_epi64(_mm256_set1_epi64x(static_cast<int64_t>(bit % 8)),
                                      _mm256_setr_epi64x(0, bits, 2 * bits, 3 * bits));
  const __m256i words =
      _mm256_i64gather_epi64(reinterpret_cast<const long long*>(from), _mm256_srli_epi64(at, 3), 1);
  const __m256i shifted = _mm256_srlv_epi64(words, _mm256_and_si256(at, _mm256_set1_epi64x(7)));
  return to_doubles(_mm256_and_si256(shifted, _mm256_set1_epi64x((int64_t{1} << bits) - 1)));
}

void packed_inner_product_pair(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                               const uint8_t* const* b0, const uint8_t* const* b1, size_t count, size_t n,
                               const Modulus& modulus) {
  const DoubleModulus m = broadcast(modulus);
  for (size_t i = 0; i < n; i += 4) {
    Sum sum0{_mm256_setzero_pd()}, sum1{_mm256_setzero_pd()};
    for (size_t k = 0; k < count; ++k) {
      const Doubles x = load_residues(a[k] + i);
      sum0.add_product(x, load_packed(b0[k], i, modulus.bits), m);
      sum1.add_product(x, load_packed(b1[k], i, modulus.bits), m);
      sum0.fold(k + 1, m);
      sum1.fold(k + 1, m);
    }
    store_integers(out0 + i, canonical(sum0.value, m));
    store_integers(out1 + i, canonical(sum1.value, m));
  }
}

constexpr size_t kTile = 256;  // residues of each input that stay in the first-level cache

void basis_convert(uint64_t* const* out, size_t out_count, const uint64_t* const* y, size_t in_count,
                   const uint64_t* c, const Modulus* p, size_t n) {
  for (size_t begin = 0; begin < n; begin += kTile) {
    const size_t end = n - begin < kTile ? n : begin + kTile;
    for (size_t j = 0; j < out_count; ++j) {
      const DoubleModulus m = broadcast(p[j]);
      for (size_t i = begin; i < end; i += 4) {
        Sum sum{_mm256_setzero_pd()};
        for (size_t k = 0; k < in_count; ++k) {
          sum.add_product(load_residues(y[k] + i), broadcast_residue(c[j * in_count + k]), m);
          sum.fold(k + 1, m);
        }
        store_integers(out[j] + i, canonical(sum.value, m));
      }
    }
  }
}

void nearest_multiples(uint64_t* u, const uint64_t* const* y, const double* reciprocals, size_t count,
                       size_t n) {
  const Doubles magic = _mm256_set1_pd(0x1p52);  // an integer below it is the low bits of the sum with it
  for (size_t k = 0; k < n; k += 4) {
    Doubles sum = _mm256_setzero_pd();
    for (size_t i = 0; i < count; ++i) {
      sum = _mm256_add_pd(sum, _mm256_mul_pd(load_residues(y[i] + k), _mm256_set1_pd(reciprocals[i])));
    }
    const __m256i bits =
        _mm256_xor_si256(_mm256_castpd_si256(_mm256_add_pd(sum, magic)), _mm256_castpd_si256(magic));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(u + k), bits);
  }
}

void reduce_centered(uint64_t* out, const uint64_t* a, size_t n, const Modulus& from, const Modulus& to) {
  const DoubleModulus m = broadcast(to);
  const Doubles half = broadcast_residue(from.value / 2), from_q = broadcast_residue(from.value);
  for (size_t i = 0; i < n; i += 4) {
    const Doubles x = load_residues(a + i);
    const Doubles above = _mm256_cmp_pd(x, half, _CMP_GT_OQ);
    store_integers(out + i, canonical(_mm256_sub_pd(x, _mm256_and_pd(above, from_q)), m));
  }
}

void automorphism(uint64_t* out, const uint64_t* a, const AutomorphismView& table) {
  kScalarKernels.automorphism(out, a, table);
}

// The four residues from place i on of a transform that is constant on runs of 2^log_run <= 4, of which c
// holds one each.
inline Doubles load_runs(const uint64_t* c, size_t i, int log_run) {
  const uint64_t* from = c + (i >> log_run);
  if (log_run == 0) return load_residues(from);
  if (log_run == 2) return broadcast_residue(*from);
  const double low = static_cast<double>(static_cast<int64_t>(from[0]));
  const double high = static_cast<double>(static_cast<int64_t>(from[1]));
  return _mm256_setr_pd(low, low, high, high);
}

// out[r][i] (+)= sum_k a[k][i] * factor(r, k, i), four residues at a time.
template <typename Factor>
void sums_of_products(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols, size_t n,
                      const DoubleModulus& m, bool accumulate, const Factor& factor) {
  for (size_t begin = 0; begin < n; begin += kTile) {
    const size_t end = n - begin < kTile ? n : begin + kTile;
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = begin; i < end; i += 4) {
        Sum sum{accumulate ? load_residues(out[r] + i) : _mm256_setzero_pd()};
        for (size_t k = 0; k < cols; ++k) {
          sum.add_product(load_residues(a[k] + i), factor(r, k, i), m);
          sum.fold(k + 1, m);
        }
        store_integers(out[r] + i, canonical(sum.value, m));
      }
    }
  }
}

void matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                    const uint64_t* const* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const int log_run = __builtin_ctzll(run);
  sums_of_products(out, rows, a, cols, n, broadcast(modulus), accumulate,
                   [&](size_t r, size_t k, size_t i) { return load_runs(c[r * cols + k], i, log_run); });
}

void run_matrix_product(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                        const uint64_t* c, size_t run, size_t n, const Modulus& modulus, bool accumulate) {
  const int log_run = __builtin_ctzll(run);
  sums_of_products(out, rows, a, cols, n, broadcast(modulus), accumulate, [&](size_t r, size_t k, size_t i) {
    return broadcast_residue(c[(i >> log_run) * rows * cols + matrix_constant(rows, cols, r, k)]);
  });
}

}  // namespace

const Kernels kAvx2Kernels = {
    .name = "avx2",
    .ntt_forward = ntt_forward,
    .ntt_inverse = ntt_inverse,
    .add = add,
    .subtract = subtract,
    .negate = negate,
    .multiply = multiply_limbs,
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

}  // namespace psm::ckks
