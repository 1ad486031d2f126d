// The negacyclic transform, one residue at a time: the reference that the other backends must equal. Included
// only by backend_scalar.cc.
//
// A product with a root takes any 64-bit factor and comes out below 2q (mul_lazy). With q < 2^50 there is
// room above q to leave the other terms unreduced through all layers. A block of 2^j residues is a node of a
// binary tree: the whole limb is node 1, and root(t) splits node t into 2t and 2t + 1. Two layers are taken
// at once (radix 4), so that each residue is loaded and stored half as often.
#pragma once

#include <algorithm>

#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {
namespace {

// What butterflies need of one direction's tables.
struct Roots {
  const uint64_t* values;
  const uint64_t* quotients;

  Multiplier operator[](size_t t) const { return {values[t], quotients[t]}; }
};

// Forward butterfly (Cooley-Tukey): (x, y) -> (x + w y, x - w y), each less than 2q from the old x. The first
// layer's x are made kStart q too large, so that none of at most 17 layers goes below zero: all values are
// below 69q < 2^57.
constexpr uint64_t kStart = 34;

inline void forward_butterfly(uint64_t& x, uint64_t& y, const Multiplier& w, const Modulus& m) {
  const uint64_t product = mul_lazy(y, w, m);
  y = x - product;
  x += product;
}

// Inverse butterfly (Gentleman-Sande): (x, y) -> (x + y, (x - y) w) for x, y <= bound, a multiple of q: the
// sum is at most 2 bound, the product below 2q.
inline void inverse_butterfly(uint64_t& x, uint64_t& y, const Multiplier& w, uint64_t bound,
                              const Modulus& m) {
  const uint64_t difference = x + bound - y;
  x += y;
  y = mul_lazy(difference, w, m);
}

// The inverse butterfly of the top layer, which divides by N and reduces: (x, y) -> ((x + y) / N, (x - y) w /
// N).
inline void inverse_top_butterfly(uint64_t& x, uint64_t& y, const NttView& tables, uint64_t bound,
                                  const Modulus& m) {
  const uint64_t difference = x + bound - y;
  x = mul_mod(x + y, tables.inverse_n, m);
  y = mul_mod(difference, tables.inverse_n_root, m);
}

// One layer of the whole limb, the top one.
void forward_top_layer(uint64_t* x, size_t n, const Roots& roots, const Modulus& modulus) {
  const Modulus m = modulus;  // a copy that no store can be suspected of changing
  const Multiplier w = roots[1];
  for (size_t i = 0; i < n / 2; ++i) {
    x[i] += kStart * m.value;
    forward_butterfly(x[i], x[i + n / 2], w, m);
  }
}

// Two layers, with the roots of a node and of its children.
inline void forward_radix_4(uint64_t& a, uint64_t& b, uint64_t& c, uint64_t& d, const Multiplier& w,
                            const Multiplier& left, const Multiplier& right, const Modulus& m) {
  forward_butterfly(a, c, w, m);
  forward_butterfly(b, d, w, m);
  forward_butterfly(a, b, left, m);
  forward_butterfly(c, d, right, m);
}

// Two layers of the block of 4 * quarter residues that is node t; kTop: the limb's first.
template <bool kTop>
void forward_two_layers(uint64_t* x, size_t quarter, size_t t, const Roots& roots, const Modulus& modulus) {
  const Modulus m = modulus;
  const Multiplier w = roots[t], left = roots[2 * t], right = roots[2 * t + 1];
  for (size_t i = 0; i < quarter; ++i) {
    uint64_t a = x[i], b = x[i + quarter], c = x[i + 2 * quarter], d = x[i + 3 * quarter];
    if constexpr (kTop) a += kStart * m.value, b += kStart * m.value;
    forward_radix_4(a, b, c, d, w, left, right, m);
    x[i] = a, x[i + quarter] = b, x[i + 2 * quarter] = c, x[i + 3 * quarter] = d;
  }
}

// The limb's last two layers, of blocks of four residues, and the reduction.
void forward_last_layers(uint64_t* x, size_t n, const Roots& roots, const Modulus& modulus) {
  const Modulus m = modulus;
  for (size_t t = n / 4; t < n / 2; ++t, x += 4) {
    forward_radix_4(x[0], x[1], x[2], x[3], roots[t], roots[2 * t], roots[2 * t + 1], m);
    for (int i = 0; i < 4; ++i) x[i] = reduce_mod(x[i], m);
  }
}

// The two layers back; `upper` is the butterfly of the upper one.
template <class Upper>
void inverse_two_layers(uint64_t* x, size_t quarter, size_t t, uint64_t bound, const Roots& roots,
                        const Modulus& modulus, const Upper& upper) {
  const Modulus m = modulus;
  const Multiplier left = roots[2 * t], right = roots[2 * t + 1];
  for (size_t i = 0; i < quarter; ++i) {
    uint64_t a = x[i], b = x[i + quarter], c = x[i + 2 * quarter], d = x[i + 3 * quarter];
    inverse_butterfly(a, b, left, bound, m);
    inverse_butterfly(c, d, right, bound, m);
    upper(a, c);
    upper(b, d);
    x[i] = a, x[i + quarter] = b, x[i + 2 * quarter] = c, x[i + 3 * quarter] = d;
  }
}

void ntt_forward(uint64_t* x, const uint64_t* a, const NttView& tables) {
  const Modulus m = tables.modulus;
  const Roots roots{tables.roots, tables.root_quotients};
  const size_t n = size_t{1} << tables.log_n;
  if (x != a) std::copy_n(a, n, x);
  size_t blocks = tables.log_n % 2 == 1 ? 2 : 4;
  if (blocks == 2) {
    forward_top_layer(x, n, roots, m);
  } else {
    forward_two_layers<true>(x, n / 4, 1, roots, m);
  }
  for (; blocks < n / 4; blocks *= 4) {
    const size_t size = n / blocks;
    for (size_t b = 0; b < blocks; ++b) {
      forward_two_layers<false>(x + b * size, size / 4, blocks + b, roots, m);
    }
  }
  forward_last_layers(x, n, roots, m);
}

void ntt_inverse(uint64_t* x, const uint64_t* a, const NttView& view) {
  const NttView tables = view;
  const Modulus& m = tables.modulus;
  const Roots roots{tables.inverse_roots, tables.inverse_root_quotients};
  const size_t n = size_t{1} << tables.log_n;
  if (x != a) std::copy_n(a, n, x);
  uint64_t bound = m.value;
  size_t blocks = n;
  for (; blocks >= 4; blocks /= 4) {
    // Sums grow fourfold in two layers. There is room for all, except with long primes in large rings.
    if (bound > uint64_t{1} << 61) {
      for (size_t i = 0; i < n; ++i) x[i] = reduce_lazy(x[i], m);
      bound = 2 * m.value;
    }
    const size_t quarter = n / blocks;
    if (blocks == 4) {
      inverse_two_layers(x, quarter, 1, bound, roots, m, [&](uint64_t& low, uint64_t& high) {
        inverse_top_butterfly(low, high, tables, 2 * bound, m);
      });
      return;
    }
    for (size_t t = blocks / 4; t < blocks / 2; ++t) {
      const Multiplier w = roots[t];
      inverse_two_layers(
          x + 4 * quarter * (t - blocks / 4), quarter, t, bound, roots, m,
          [&](uint64_t& low, uint64_t& high) { inverse_butterfly(low, high, w, 2 * bound, m); });
    }
    bound *= 4;
  }
  for (size_t i = 0; i < n / 2; ++i) inverse_top_butterfly(x[i], x[i + n / 2], tables, bound, m);
}

}  // namespace
}  // namespace psm::ckks
