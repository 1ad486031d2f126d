// The negacyclic transform, eight residues at a time; see ntt_butterflies_avx512ifma.h for the arithmetic.
//
// Two or three layers of the reference are taken at once (radix 4 and 8), so data passes through registers a
// third as often. Large blocks are finished one after the other, so that the work soon lies in the caches.
// Inside a leaf of 2^10 residues all blocks take a layer before any takes the next, which keeps the chains of
// dependent instructions short.
//
// A block is a node of a binary tree: the whole limb is node 1, and root(t) splits node t into 2t and 2t + 1.
// Included only by backend_avx512ifma.cc.
#pragma once

#include "ckks/ring/kernels/backend_list.h"
#include "ckks/ring/kernels/ntt_butterflies_avx512ifma.h"

namespace psm::ckks {
namespace {

constexpr int kLeafBits = 10;
constexpr int kNarrowLayers = 3;  // the last layers, inside vectors
constexpr size_t kPairs = 8;      // of vectors, which take these layers side by side
constexpr int kLeastBits =
    7;  // log2 of the residues of so many pairs; secret_independence_test.cc has this size
constexpr int kAmpleBits = 45;
constexpr uint64_t kNearPower = (uint64_t{1} << 50) - (uint64_t{1} << 40);

// How many of `left` layers the next pass takes: twos first, so that the last pass, which meets new roots
// with every vector, has the most work for each of them.
inline int layers_of_pass(int left) { return left % 3 == 0 ? 3 : 2; }

template <bool kAmple>
class Forward {
 public:
  explicit Forward(const NttView& tables)
      : m_(broadcast(tables.modulus)),
        start_(broadcast(kStart * tables.modulus.value)),
        division_(tables.modulus),
        roots_(tables.roots, tables.root_quotients, tables.modulus) {}

  // Takes node t, a block of 2^log_size residues, through all layers, from a to x. The first pass moves the
  // data.
  void block(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    if (log_size <= kLeafBits) return leaf(x, a, log_size, t);
    pass<3>(x, a, log_size, t);
    for (size_t child = 0; child < 8; ++child) {
      uint64_t* part = x + (child << (log_size - 3));
      block(part, part, log_size - 3, 8 * t + child);
    }
  }

 private:
  void leaf(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    int done = 0;
    for (int left = log_size - kNarrowLayers; left > 0;) {
      const int layers = layers_of_pass(left);
      for (size_t node = 0; node < size_t{1} << done; ++node) {
        uint64_t* part = x + (node << (log_size - done));
        const uint64_t* from = done == 0 ? a : part;
        if (layers == 3) {
          pass<3>(part, from, log_size - done, (t << done) + node);
        } else {
          pass<2>(part, from, log_size - done, (t << done) + node);
        }
      }
      done += layers;
      left -= layers;
    }
    narrow_layers(x, size_t{1} << log_size, t << done);
  }

  // 2^kLayers vectors, one from each of as many equal parts of a block, through kLayers layers.
  template <int kLayers, int kLayer = 0>
  [[gnu::always_inline]] static void butterflies(Vector* v, const VectorMultiplier* w,
                                                 const VectorModulus& m) {
    constexpr int kHalf = 1 << (kLayers - kLayer - 1);
#pragma GCC unroll 8
    for (int i = 0; i < 1 << (kLayers - 1); ++i) {
      const int node = i / kHalf;
      Vector* low = v + 2 * kHalf * node + i % kHalf;
      forward_butterfly<before_layer(kLayer, kLayers)>(low[0], low[kHalf], w[(1 << kLayer) - 1 + node], m);
    }
    if constexpr (kLayer + 1 < kLayers) butterflies<kLayers, kLayer + 1>(v, w, m);
  }

  // What brings sums back before this layer of a pass.
  static constexpr Before before_layer(int layer, int layers) {
    if (kAmple) return Before::kNothing;
    return layer == 0 && layers > 1 ? Before::kHalve : Before::kSettle;
  }

  template <int kLayers>
  void pass(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    if (t == 1 && kAmple) return pass<kLayers, true>(x, a, log_size, t);
    pass<kLayers, false>(x, a, log_size, t);
  }
  template <int kLayers, bool kFirst>
  [[gnu::always_inline]] void pass(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    constexpr size_t kParts = 1 << kLayers;
    const size_t stride = size_t{1} << (log_size - kLayers);
    const VectorModulus m = m_;  // a copy that no store can be suspected of changing
    VectorMultiplier w[kParts - 1];
    load_roots<kLayers>(roots_, t, w);
    for (size_t i = 0; i < stride; i += 8) {
      Vector v[kParts];
#pragma GCC unroll 8
      for (size_t k = 0; k < kParts; ++k) v[k] = load(a + k * stride + i);
      if constexpr (kFirst) {
#pragma GCC unroll 8
        for (size_t k = 0; k < kParts / 2; ++k) v[k] = add(v[k], start_);
      }
      butterflies<kLayers>(v, w, m);
#pragma GCC unroll 8
      for (size_t k = 0; k < kParts; ++k) store(x + k * stride + i, v[k]);
    }
  }

  // The last three layers of `size` residues whose first eight are node t, and the full reduction.
  void narrow_layers(uint64_t* x, size_t size, size_t t) const {
    const VectorModulus m = m_;
    const Roots roots = roots_;
    const ExactDivision division = division_;
    for (size_t i = 0; i < size; i += 16 * kPairs) narrow_step(x + i, t + i / 8, roots, division, m);
  }

  // kPairs times 16 residues, side by side: each alone is one long chain of dependent instructions.
  [[gnu::always_inline]] static void narrow_step(uint64_t* x, size_t node, const Roots& roots,
                                                 const ExactDivision& division, const VectorModulus& m) {
    const auto residue = [&](Vector v) { return kAmple ? division.residue(v, m) : reduced(v, m); };
    Vector a[kPairs], b[kPairs];
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      a[p] = load(x + 16 * p);
      b[p] = load(x + 16 * p + 8);
      interleave(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      forward_butterfly<before_layer(0, 1)>(a[p], b[p], roots.two_at(node + 2 * p), m);
      interleave(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      forward_butterfly<before_layer(1, 1)>(a[p], b[p], roots.four_at(2 * node + 4 * p), m);
      interleave(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      forward_butterfly<before_layer(2, 1)>(a[p], b[p], roots.eight_at(4 * node + 8 * p), m);
      interleave(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      store(x + 16 * p, residue(a[p]));
      store(x + 16 * p + 8, residue(b[p]));
    }
  }

  VectorModulus m_;
  Vector start_;
  ExactDivision division_;
  Roots roots_;
};

template <bool kAmple>
class Inverse {
 public:
  explicit Inverse(const NttView& tables)
      : m_(broadcast(tables.modulus)),
        roots_(tables.inverse_roots, tables.inverse_root_quotients, tables.modulus),
        inverse_n_(broadcast(tables.inverse_n)),
        inverse_n_root_(broadcast(tables.inverse_n_root)) {
    for (int i = 0; i < 3; ++i) bounds_[i] = broadcast(tables.modulus.value << (kLogBound + i));
  }

  // From a to x; the narrow layers move the data.
  void block(uint64_t* x, const uint64_t* a, int log_size, size_t t) const {
    if (log_size <= kLeafBits) {
      narrow_layers(x, a, size_t{1} << log_size, t << (log_size - kNarrowLayers));
      return wide_layers(x, log_size, t, 0);
    }
    for (size_t child = 0; child < 8; ++child) {
      const size_t begin = child << (log_size - 3);
      block(x + begin, a + begin, log_size - 3, 8 * t + child);
    }
    pass<3>(x, log_size, t);
  }

 private:
  // Values between passes are at most 16q and the sums of a pass at most 128q (kAmple: 128q < 2^52). Only the
  // first of eight vectors grows that far, and it is settled. The others come from a product at most two layers
  // ago: twice 2q, 2q more for the first, and twice that.
  static constexpr int kLogBound = 4;

  // The wide layers of a leaf, without the top `above`, which come last.
  void wide_layers(uint64_t* x, int log_size, size_t t, int above) const {
    const int left = log_size - kNarrowLayers - above;
    if (left == 0) return;
    const int layers = layers_of_pass(left);
    wide_layers(x, log_size, t, above + layers);
    for (size_t node = 0; node < size_t{1} << above; ++node) {
      uint64_t* part = x + (node << (log_size - above));
      if (layers == 3) {
        pass<3>(part, log_size - above, (t << above) + node);
      } else {
        pass<2>(part, log_size - above, (t << above) + node);
      }
    }
  }

  // (x, y) -> ((x + y) / N, (x - y) w / N), fully reduced.
  void whole_butterfly(Vector& x, Vector& y, Vector bound, const VectorModulus& m) const {
    Vector sum = add(x, y), difference = sub(add(x, bound), y);
    if constexpr (!kAmple) {
      sum = settle_near_power(sum, m);
      difference = settle_near_power(difference, m);
    }
    x = multiply(sum, inverse_n_, m);
    y = multiply(difference, inverse_n_root_, m);
  }

  // The layers of the forward pass in reverse. kWhole: the top one is that of the limb, and divides by N.
  template <int kLayers, bool kWhole, int kLayer = kLayers - 1>
  [[gnu::always_inline]] void butterflies(Vector* v, const VectorMultiplier* w, const VectorModulus& m,
                                          const Vector* bounds) const {
    constexpr int kHalf = 1 << (kLayers - kLayer - 1);
    const Vector bound = bounds[kLayers - kLayer - 1];
#pragma GCC unroll 8
    for (int i = 0; i < 1 << (kLayers - 1); ++i) {
      const int node = i / kHalf, place = i % kHalf;
      Vector* low = v + 2 * kHalf * node + place;
      if constexpr (kWhole && kLayer == 0) {
        whole_butterfly(low[0], low[kHalf], bound, m);
        continue;
      }
      const VectorMultiplier& root = w[(1 << kLayer) - 1 + node];
      // 2q if this product is the first of two in the next layer.
      const Vector start = kLayer > 0 && node % 2 == 0 ? m.two_q : _mm512_setzero_si512();
      if (kHalf > 1 && place >= kHalf / 2) {
        inverse_butterfly<kAmple, Difference::kAsIs>(low[0], low[kHalf], root, bound, start, m);
      } else {
        inverse_butterfly<kAmple, Difference::kSettled>(low[0], low[kHalf], root, bound, start, m);
      }
    }
    if constexpr (kLayer > 0) {
      butterflies<kLayers, kWhole, kLayer - 1>(v, w, m, bounds);
    } else if constexpr (!kWhole) {
      v[0] = kAmple ? settle(v[0], m) : low_52(settle_near_power(v[0], m));
    }
  }

  template <int kLayers, bool kWhole>
  [[gnu::always_inline]] void pass(uint64_t* x, int log_size, size_t t) const {
    constexpr size_t kParts = 1 << kLayers;
    const size_t stride = size_t{1} << (log_size - kLayers);
    const VectorModulus m = m_;  // copies that no store can be suspected of changing
    const Vector bounds[3] = {bounds_[0], bounds_[1], bounds_[2]};
    VectorMultiplier w[kParts - 1];
    load_roots<kLayers>(roots_, t, w);
    for (size_t i = 0; i < stride; i += 8) {
      Vector v[kParts];
#pragma GCC unroll 8
      for (size_t k = 0; k < kParts; ++k) v[k] = load(x + k * stride + i);
      butterflies<kLayers, kWhole>(v, w, m, bounds);
#pragma GCC unroll 8
      for (size_t k = 0; k < kParts; ++k) store(x + k * stride + i, v[k]);
    }
  }
  template <int kLayers>
  void pass(uint64_t* x, int log_size, size_t t) const {
    if (t == 1) return pass<kLayers, true>(x, log_size, t);
    pass<kLayers, false>(x, log_size, t);
  }

  // The first three layers of `size` residues whose first eight are node t.
  void narrow_layers(uint64_t* x, const uint64_t* from, size_t size, size_t t) const {
    const VectorModulus m = m_;
    const Roots roots = roots_;
    for (size_t i = 0; i < size; i += 16 * kPairs)
      narrow_step(x + i, from + i, t + i / 8, roots, bounds_[0], m);
  }

  [[gnu::always_inline]] static void narrow_step(uint64_t* x, const uint64_t* from, size_t node,
                                                 const Roots& roots, Vector bound, const VectorModulus& m) {
    const Vector zero = _mm512_setzero_si512();
    Vector a[kPairs], b[kPairs];
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      a[p] = load(from + 16 * p);
      b[p] = load(from + 16 * p + 8);
      separate(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      inverse_butterfly<kAmple, Difference::kRaised>(a[p], b[p], roots.eight_at(4 * node + 8 * p), m.value,
                                                     zero, m);
      separate(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      inverse_butterfly<kAmple, Difference::kSettled>(a[p], b[p], roots.four_at(2 * node + 4 * p), bound,
                                                      zero, m);
      separate(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      inverse_butterfly<kAmple, Difference::kSettled>(a[p], b[p], roots.two_at(node + 2 * p), bound, zero, m);
      separate(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      store(x + 16 * p, a[p]);
      store(x + 16 * p + 8, b[p]);
    }
  }

  VectorModulus m_;
  Roots roots_;
  VectorMultiplier inverse_n_, inverse_n_root_;
  Vector bounds_[3];
};

// A processor with these instructions has those of AVX2, which take rings and primes that are not served here.
void ntt_forward(uint64_t* out, const uint64_t* a, const NttView& tables) {
  const bool ample = tables.modulus.bits <= kAmpleBits;
  if (tables.log_n < kLeastBits || (!ample && tables.modulus.value <= kNearPower))
    return kAvx2Kernels.ntt_forward(out, a, tables);
  if (ample) return Forward<true>(tables).block(out, a, tables.log_n, 1);
  Forward<false>(tables).block(out, a, tables.log_n, 1);
}

void ntt_inverse(uint64_t* out, const uint64_t* a, const NttView& tables) {
  const bool ample = tables.modulus.bits <= kAmpleBits;
  if (tables.log_n < kLeastBits || (!ample && tables.modulus.value <= kNearPower))
    return kAvx2Kernels.ntt_inverse(out, a, tables);
  if (ample) return Inverse<true>(tables).block(out, a, tables.log_n, 1);
  Inverse<false>(tables).block(out, a, tables.log_n, 1);
}

}  // namespace
}  // namespace psm::ckks
