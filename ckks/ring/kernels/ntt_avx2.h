// The negacyclic transform in doubles, four residues at a time; see avx2.h for the arithmetic. Included only by
// backend_avx2.cc.
//
// While it runs, the limb's words hold doubles. Two layers are taken at once (radix 4), large blocks one
// after the other; the last two layers happen on 16 residues, transposed. A block is a node of a binary tree:
// the whole limb is node 1, and root(t) splits node t into 2t and 2t + 1.
//
// Bounds are in multiples of q. Primes below 2^47 are kAmple: the product is at most 1/2 + B/32, so a forward
// transform, which begins at 1, stays below 16 = 2^51 / 2^47 in 17 layers without any reduction. For longer
// primes roots are centred where a loop repays it, and some values are reduced to 1/2.
#pragma once

#include "ckks/ring/kernels/avx2.h"
#include "ckks/ring/kernels/backend_list.h"

namespace psm::ckks {
namespace {

constexpr int kLeafBits = 11;
constexpr int kNarrowLayers = 2;
constexpr int kAmpleBits = 47;

// Rows become columns; undoes itself.
inline void transpose(Doubles* v) {
  const Doubles a = _mm256_unpacklo_pd(v[0], v[1]), b = _mm256_unpackhi_pd(v[0], v[1]);
  const Doubles c = _mm256_unpacklo_pd(v[2], v[3]), d = _mm256_unpackhi_pd(v[2], v[3]);
  v[0] = _mm256_permute2f128_pd(a, c, 0x20);
  v[1] = _mm256_permute2f128_pd(b, d, 0x20);
  v[2] = _mm256_permute2f128_pd(a, c, 0x31);
  v[3] = _mm256_permute2f128_pd(b, d, 0x31);
}

// Takes one vector from the same place of each of kParts parts of a to body, and stores the results in x.
template <size_t kParts, Doubles (*kLoad)(const uint64_t*) = load, void (*kStore)(uint64_t*, Doubles) = store,
          typename Body>
[[gnu::always_inline]] inline void for_parts(uint64_t* x, const uint64_t* a, size_t size, const Body& body) {
  const size_t part = size / kParts;
  for (size_t i = 0; i < part; i += 4) {
    Doubles v[kParts];
#pragma GCC unroll 4
    for (size_t k = 0; k < kParts; ++k) v[k] = kLoad(a + k * part + i);
    body(v);
#pragma GCC unroll 4
    for (size_t k = 0; k < kParts; ++k) kStore(x + k * part + i, v[k]);
  }
}

// The roots of a node and of its two children.
struct RootTriple {
  Doubles node, left, right;
};

// The same for each of the four nodes from t on, not centred.
inline RootTriple four_triples(const uint64_t* roots, size_t t) {
  const Doubles a = load_residues(roots + 2 * t), b = load_residues(roots + 2 * t + 4);
  const Doubles low = _mm256_permute2f128_pd(a, b, 0x20), high = _mm256_permute2f128_pd(a, b, 0x31);
  return {load_residues(roots + t), _mm256_unpacklo_pd(low, high), _mm256_unpackhi_pd(low, high)};
}

// The roots of a pass over successive nodes, and of their children, as doubles. They are centred unless kAmple.
template <bool kAmple>
class PassRoots {
 public:
  PassRoots(const uint64_t* roots, size_t t, size_t nodes, const DoubleModulus& m) {
    convert(nodes_, roots + t, nodes, m);
    convert(children_, roots + 2 * t, 2 * nodes, m);
  }
  RootTriple operator[](size_t node) const {
    return {broadcast(nodes_[node]), broadcast(children_[2 * node]), broadcast(children_[2 * node + 1])};
  }

 private:
  // Four at a time: what is read beyond lies in the table.
  static void convert(double* to, const uint64_t* from, size_t count, const DoubleModulus& m) {
    for (size_t i = 0; i < count; i += 4) {
      const Doubles w = load_residues(from + i);
      _mm256_store_pd(to + i, kAmple ? w : centred(w, m));
    }
  }
  static constexpr size_t kMaxNodes = size_t{1} << (kLeafBits - kNarrowLayers - 2);
  alignas(32) double nodes_[kMaxNodes], children_[2 * kMaxNodes];
};

template <bool kAmple>
class Forward {
 public:
  explicit Forward(const NttView& tables)
      : log_n_(tables.log_n), m_(broadcast(tables.modulus)), roots_(tables.roots) {}

  // Takes node t, a block of 2^log_size residues, through all layers. The first pass reads the words of a.
  void block(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    if (log_size > kLeafBits) {
      two_layers(x, a, log_size, t, 1);
      for (size_t child = 0; child < 4; ++child) {
        block(x + (child << (log_size - 2)), a, log_size - 2, 4 * t + child);
      }
      return;
    }
    // An odd number of wide layers begins with a single one.
    const int wide = log_size - kNarrowLayers;
    if (wide % 2 == 1) one_layer(x, a, log_size, t);
    for (int above = wide % 2; above < wide; above += 2)
      two_layers(x, a, log_size - above, t << above, size_t{1} << above);
    narrow_layers(x, size_t{1} << log_size, t << wide);
  }

 private:
  // (x, y) -> (x + w y, x - w y).
  static void butterfly(Doubles& x, Doubles& y, Doubles w, const DoubleModulus& m) {
    const Doubles product = multiply(y, w, m);
    y = _mm256_sub_pd(x, product);
    x = _mm256_add_pd(x, product);
  }

  // Two layers of v[0 .. 3], of which the first kReduced are reduced before.
  template <int kReduced>
  static void radix_4(Doubles* v, const RootTriple& w, const DoubleModulus& m) {
    if constexpr (!kAmple) {
#pragma GCC unroll 4
      for (int k = 0; k < kReduced; ++k) v[k] = reduce(v[k], m);
    }
    butterfly(v[0], v[2], w.node, m);
    butterfly(v[1], v[3], w.node, m);
    butterfly(v[0], v[1], w.left, m);
    butterfly(v[2], v[3], w.right, m);
  }

  // Two layers of `nodes` blocks of 2^log_size residues from node t on. Every second pass reduces: it leads from
  // 3.9 to at most 1/2 + 1/2 + 3.9/8 < 1.5 in a layer and to 2.2 in two; the pass after it leads back to 3.9.
  void two_layers(uint64_t* x, const uint64_t* a, int log_size, size_t t, size_t nodes) const {
    if (t == 1) return pass<0, load_residues>(x, a, log_size, t, nodes);
    if ((log_n_ - log_size) / 2 % 2 == 0) return pass<0, load>(x, x, log_size, t, nodes);
    pass<2, load>(x, x, log_size, t, nodes);
  }
  template <int kReduced, Doubles (*kLoad)(const uint64_t*)>
  void pass(uint64_t* x, const uint64_t* a, int log_size, size_t t, size_t nodes) const {
    const DoubleModulus m = m_;  // a copy that no store can be suspected of changing
    const PassRoots<kAmple> roots(roots_, t, nodes, m);
    for (size_t node = 0; node < nodes; ++node) {
      const RootTriple w = roots[node];
      const size_t at = node << log_size;
      for_parts<4, kLoad>(x + at, a + at, size_t{1} << log_size,
                          [=](Doubles* v) { radix_4<kReduced>(v, w, m); });
    }
  }

  // Leads from 3.9 to 1.5 too.
  void one_layer(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    const auto body = [m = m_, w = PassRoots<kAmple>(roots_, t, 1, m_)[0].node](Doubles* v) {
      if constexpr (!kAmple) v[0] = reduce(v[0], m);
      butterfly(v[0], v[1], w, m);
    };
    const size_t size = size_t{1} << log_size;
    if (t == 1) return for_parts<2, load_residues>(x, a, size, body);
    for_parts<2>(x, x, size, body);
  }

  // The last two layers of `size` residues, whose first four are node t: from 1/2 to 1.2 and 2.
  void narrow_layers(uint64_t* x, size_t size, size_t t) const {
    const DoubleModulus m = m_;
    for (size_t i = 0; i < size; i += 16) {
      const RootTriple w = four_triples(roots_, t + i / 4);
      for_parts<4, load, store_residues>(x + i, x + i, 16, [=](Doubles* v) {
        transpose(v);
        radix_4<4>(v, w, m);
        transpose(v);
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) v[k] = canonical(v[k], m);
      });
    }
  }

  int log_n_;
  DoubleModulus m_;
  const uint64_t* roots_;
};

// Between passes all values are at most 1 (1.2 for kAmple).
template <bool kAmple>
class Inverse {
 public:
  explicit Inverse(const NttView& tables)
      : m_(broadcast(tables.modulus)),
        roots_(tables.inverse_roots),
        inverse_n_(centred(broadcast_residue(tables.inverse_n.value), m_)),
        inverse_n_root_(centred(broadcast_residue(tables.inverse_n_root.value), m_)) {}

  void block(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    if (log_size > kLeafBits) {
      for (size_t child = 0; child < 4; ++child) {
        const size_t at = child << (log_size - 2);
        block(x + at, a + at, log_size - 2, 4 * t + child);
      }
      return two_layers(x, log_size, t, 1);
    }
    const int wide = log_size - kNarrowLayers;
    narrow_layers(x, a, size_t{1} << log_size, t << wide);
    for (int above = wide - 2; above >= 0; above -= 2)
      two_layers(x, log_size - above, t << above, size_t{1} << above);
    if (wide % 2 == 1) one_layer(x, log_size, t);
  }

 private:
  // (x, y) -> (x + y, (x - y) w).
  static void butterfly(Doubles& x, Doubles& y, Doubles w, const DoubleModulus& m) {
    const Doubles difference = _mm256_sub_pd(x, y);
    x = _mm256_add_pd(x, y);
    y = multiply(difference, w, m);
  }
  // The last one, which divides by N: (x, y) -> ((x + y) / N, (x - y) w / N) in [0, q).
  void top_butterfly(Doubles& x, Doubles& y, const DoubleModulus& m) const {
    const Doubles difference = _mm256_sub_pd(x, y);
    x = canonical(multiply(_mm256_add_pd(x, y), inverse_n_, m), m);
    y = canonical(multiply(difference, inverse_n_root_, m), m);
  }

  // Sums are 2 and 4, products at most 1/2 + 2/8 = 3/4 and 1/2 + 4/8 = 1.
  static void radix_4(Doubles* v, const RootTriple& w, const DoubleModulus& m) {
    butterfly(v[0], v[1], w.left, m);
    butterfly(v[2], v[3], w.right, m);
    butterfly(v[0], v[2], w.node, m);
    butterfly(v[1], v[3], w.node, m);
    v[0] = reduce(v[0], m);
    if constexpr (!kAmple) v[1] = reduce(v[1], m);
  }

  void two_layers(uint64_t* x, int log_size, size_t t, size_t nodes) const {
    const DoubleModulus m = m_;
    const PassRoots<kAmple> roots(roots_, t, nodes, m);
    const size_t size = size_t{1} << log_size;
    if (t == 1) {
      return for_parts<4, load, store_residues>(x, x, size, [=, this, w = roots[0]](Doubles* v) {
        butterfly(v[0], v[1], w.left, m);
        butterfly(v[2], v[3], w.right, m);
        top_butterfly(v[0], v[2], m);
        top_butterfly(v[1], v[3], m);
      });
    }
    for (size_t node = 0; node < nodes; ++node, x += size)
      for_parts<4>(x, x, size, [=, w = roots[node]](Doubles* v) { radix_4(v, w, m); });
  }

  void one_layer(uint64_t* x, int log_size, size_t t) const {
    const DoubleModulus m = m_;
    const Doubles w = PassRoots<kAmple>(roots_, t, 1, m)[0].node;
    const size_t size = size_t{1} << log_size;
    if (t == 1) {
      return for_parts<2, load, store_residues>(x, x, size,
                                                [=, this](Doubles* v) { top_butterfly(v[0], v[1], m); });
    }
    for_parts<2>(x, x, size, [=](Doubles* v) {
      butterfly(v[0], v[1], w, m);
      v[0] = reduce(v[0], m);
    });
  }

  // The first two layers of `size` residues in [0, q). Differences are at most 1 and 2, which suits roots that
  // are not centred: products are at most 3/4 and 1 too.
  void narrow_layers(uint64_t* x, const uint64_t* a, size_t size, size_t t) const {
    const DoubleModulus m = m_;
    for (size_t i = 0; i < size; i += 16) {
      const RootTriple w = four_triples(roots_, t + i / 4);
      for_parts<4, load_residues>(x + i, a + i, 16, [=](Doubles* v) {
        transpose(v);
        radix_4(v, w, m);
        transpose(v);
      });
    }
  }

  DoubleModulus m_;
  const uint64_t* roots_;
  Doubles inverse_n_, inverse_n_root_;
};

void ntt_forward(uint64_t* x, const uint64_t* a, const NttView& tables) {
  if (tables.log_n < 5) return kScalarKernels.ntt_forward(x, a, tables);
  if (tables.modulus.bits <= kAmpleBits) return Forward<true>(tables).block(x, a, tables.log_n, 1);
  Forward<false>(tables).block(x, a, tables.log_n, 1);
}

void ntt_inverse(uint64_t* x, const uint64_t* a, const NttView& tables) {
  if (tables.log_n < 5) return kScalarKernels.ntt_inverse(x, a, tables);
  if (tables.modulus.bits <= kAmpleBits) return Inverse<true>(tables).block(x, a, tables.log_n, 1);
  Inverse<false>(tables).block(x, a, tables.log_n, 1);
}

}  // namespace
}  // namespace psm::ckks
