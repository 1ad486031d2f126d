// The negacyclic transform in doubles, four residues at a time; see avx2.h for the arithmetic. Included only by
// backend_avx2.cc.
//
// While it runs, the limb's words hold doubles. Two layers are taken at once (radix 4), large blocks one
// after the other; the last two layers happen on 16 residues, transposed. A block is a node of a binary tree:
// the whole limb is node 1, and root(t) splits node t into 2t and 2t + 1.
#pragma once

#include <cstring>

#include "ckks/ring/kernels/avx2.h"
#include "ckks/ring/kernels/backend_list.h"

namespace psm::ckks {
namespace {

constexpr int kLeafBits = 11;
constexpr int kNarrowLayers = 2;

inline Doubles load(const uint64_t* p) { return _mm256_loadu_pd(reinterpret_cast<const double*>(p)); }
inline void store(uint64_t* p, Doubles x) { _mm256_storeu_pd(reinterpret_cast<double*>(p), x); }

// Rows become columns; undoes itself.
inline void transpose(Doubles* v) {
  const Doubles a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
  const Doubles c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
  v[0] = _mm256_permute2f128_pd(a, c, 0x20);
  v[1] = _mm256_permute2f128_pd(b, d, 0x20);
  v[2] = _mm256_permute2f128_pd(a, c, 0x31);
  v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

// Eight successive roots, the even ones and the odd ones.
inline void load_even_odd(const uint64_t* roots, Doubles& even, Doubles& odd) {
  const Doubles a = load_residues(roots), b = load_residues(roots + 4);
  const Doubles low = _mm256_permute2f128_pd(a, b, 0x20), high = _mm256_permute2f128_pd(a, b, 0x31);
  even = _mm256_unpacklo_pd(low, high);
  odd = _mm256_unpackhi_pd(low, high);
}

// (x, y) -> (x + w y, x - w y).
inline void forward_butterfly(Doubles& x, Doubles& y, Doubles w, const DoubleModulus& m) {
  const Doubles product = multiply<Quotient::kLarge>(y, w, m);
  y = _mm256_sub_pd(x, product);
  x = _mm256_add_pd(x, product);
}

// Two layers of v[0..3] with the roots of a node and of its children. With all |v| <= 7.5q: the first two are
// reduced to 0.51q, the first layer gives at most (0.51 + 2 + 7.5/4) q < 4.4q, the second (4.4 + 2 + 4.4/4) q
// = 7.5q.
inline void forward_radix_4(Doubles* v, Doubles w, Doubles left, Doubles right, const DoubleModulus& m) {
  v[0] = reduce(v[0], m);
  v[1] = reduce(v[1], m);
  forward_butterfly(v[0], v[2], w, m);
  forward_butterfly(v[1], v[3], w, m);
  forward_butterfly(v[0], v[1], left, m);
  forward_butterfly(v[2], v[3], right, m);
}

// (x, y) -> (x + y, (x - y) w).
inline void inverse_butterfly(Doubles& x, Doubles& y, Doubles w, const DoubleModulus& m) {
  const Doubles difference = _mm256_sub_pd(x, y);
  x = _mm256_add_pd(x, y);
  y = multiply<Quotient::kLarge>(difference, w, m);
}

// The same two layers back. With all |v| <= q: the first gives at most (2 + 2/4) q, the second 5q, and
// everything is reduced to 0.51q at the end.
inline void inverse_radix_4(Doubles* v, Doubles w, Doubles left, Doubles right, const DoubleModulus& m) {
  inverse_butterfly(v[0], v[1], left, m);
  inverse_butterfly(v[2], v[3], right, m);
  inverse_butterfly(v[0], v[2], w, m);
  inverse_butterfly(v[1], v[3], w, m);
  for (int k = 0; k < 4; ++k) v[k] = reduce(v[k], m);
}

// One or two wide layers of the block of 2^log_size residues that is node t.
template <bool kForward>
void pass(uint64_t* x, int layers, int log_size, size_t t, const uint64_t* roots,
          const DoubleModulus& modulus) {
  const DoubleModulus m = modulus;  // a copy that no store can be suspected of changing
  const Doubles w = broadcast_residue(roots[t]);
  if (layers == 1) {
    const size_t half = size_t{1} << (log_size - 1);
    for (size_t i = 0; i < half; i += 4) {
      Doubles a = load(x + i), b = load(x + half + i);
      if constexpr (kForward) {
        a = reduce(a, m);
        forward_butterfly(a, b, w, m);
      } else {
        inverse_butterfly(a, b, w, m);
        a = reduce(a, m);
        b = reduce(b, m);
      }
      store(x + i, a);
      store(x + half + i, b);
    }
    return;
  }
  const Doubles left = broadcast_residue(roots[2 * t]), right = broadcast_residue(roots[2 * t + 1]);
  const size_t stride = size_t{1} << (log_size - 2);
  for (size_t i = 0; i < stride; i += 4) {
    Doubles v[4] = {load(x + i), load(x + stride + i), load(x + 2 * stride + i), load(x + 3 * stride + i)};
    if constexpr (kForward) {
      forward_radix_4(v, w, left, right, m);
    } else {
      inverse_radix_4(v, w, left, right, m);
    }
    for (size_t k = 0; k < 4; ++k) store(x + k * stride + i, v[k]);
  }
}

// The last two layers of `size` residues, whose first four are node t; doubles become words again.
void forward_narrow(uint64_t* x, size_t size, size_t t, const uint64_t* roots, const DoubleModulus& m) {
  for (size_t i = 0; i < size; i += 16) {
    const size_t node = t + i / 4;
    Doubles v[4] = {load(x + i), load(x + i + 4), load(x + i + 8), load(x + i + 12)}, left, right;
    load_even_odd(roots + 2 * node, left, right);
    transpose(v);
    forward_radix_4(v, load_residues(roots + node), left, right, m);
    transpose(v);
    for (size_t k = 0; k < 4; ++k) store_integers(x + i + 4 * k, canonical(v[k], m));
  }
}

void inverse_narrow(uint64_t* x, size_t size, size_t t, const uint64_t* roots, const DoubleModulus& m) {
  for (size_t i = 0; i < size; i += 16) {
    const size_t node = t + i / 4;
    Doubles v[4], left, right;
    for (size_t k = 0; k < 4; ++k) v[k] = load_residues(x + i + 4 * k);
    load_even_odd(roots + 2 * node, left, right);
    transpose(v);
    inverse_radix_4(v, load_residues(roots + node), left, right, m);
    transpose(v);
    for (size_t k = 0; k < 4; ++k) store(x + i + 4 * k, v[k]);
  }
}

// All layers of a block that is node t.
template <bool kForward>
void block(uint64_t* x, int log_size, size_t t, const uint64_t* roots, const DoubleModulus& m) {
  const int wide = log_size - kNarrowLayers;
  if (log_size > kLeafBits) {
    if constexpr (kForward) pass<true>(x, 2, log_size, t, roots, m);
    for (size_t child = 0; child < 4; ++child) {
      block<kForward>(x + (child << (log_size - 2)), log_size - 2, 4 * t + child, roots, m);
    }
    if constexpr (!kForward) pass<false>(x, 2, log_size, t, roots, m);
    return;
  }
  // An odd number of wide layers begins with a single one; `above` of them lie over the next pass.
  const auto pass_below = [&](int above) {
    const int layers = above == 0 && wide % 2 == 1 ? 1 : 2;
    for (size_t node = 0; node < size_t{1} << above; ++node) {
      pass<kForward>(x + (node << (log_size - above)), layers, log_size - above, (t << above) + node, roots,
                     m);
    }
  };
  if constexpr (kForward) {
    for (int above = 0; above < wide; above += above == 0 && wide % 2 == 1 ? 1 : 2) pass_below(above);
    forward_narrow(x, size_t{1} << log_size, t << wide, roots, m);
  } else {
    inverse_narrow(x, size_t{1} << log_size, t << wide, roots, m);
    for (int above = wide - 2; above >= 0; above -= 2) pass_below(above);
    if (wide % 2 == 1) pass_below(0);
  }
}

void ntt_forward(uint64_t* x, const uint64_t* a, const NttView& tables) {
  if (tables.log_n < 4) return kScalarKernels.ntt_forward(x, a, tables);
  const size_t n = size_t{1} << tables.log_n;
  for (size_t i = 0; i < n; i += 4) store(x + i, load_residues(a + i));
  block<true>(x, tables.log_n, 1, tables.roots, broadcast(tables.modulus));
}

void ntt_inverse(uint64_t* x, const uint64_t* a, const NttView& tables) {
  if (tables.log_n < 4) return kScalarKernels.ntt_inverse(x, a, tables);
  if (x != a) std::memcpy(x, a, sizeof(uint64_t) << tables.log_n);
  const DoubleModulus m = broadcast(tables.modulus);
  block<false>(x, tables.log_n, 1, tables.inverse_roots, m);
  const Doubles inverse_n = broadcast_residue(tables.inverse_n.value);
  const size_t n = size_t{1} << tables.log_n;
  for (size_t i = 0; i < n; i += 4) store_integers(x + i, canonical(multiply(load(x + i), inverse_n, m), m));
}

}  // namespace
}  // namespace psm::ckks
