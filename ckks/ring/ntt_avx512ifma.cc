// The negacyclic transform, eight residues at a time.
//
// The layers of the reference are taken two or three at once (radix 4 and 8), so that data passes through
// registers a third as often. Large blocks are finished one after the other, so that from the first layers on
// the work lies in the caches; inside a leaf of 2^10 residues all blocks take a layer before any takes the
// next, which keeps the chains of dependent instructions short.
//
// A block is a node of a binary tree: the whole limb is node 1, and node t splits into 2t and 2t + 1 with
// root(t).
#include "ckks/ring/ntt_avx512ifma.h"

#include "ckks/ring/avx512ifma.h"

namespace psm {
namespace {

// Moduli of at most 45 bits leave seven bits and more above q: values may grow by 2q a layer, or by a factor
// of eight a pass, and are reduced rarely ("roomy"). Larger ones are kept below 4q < 2^52 ("tight"). Both end
// with the same bits.
constexpr int kRoomyBits = 45;

constexpr int kLeafBits = 10;
constexpr int kNarrowLayers = 3;  // the last layers, inside vectors

// How many of `left` layers the next pass takes: twos first, so that the last pass, which meets new roots
// with every vector, has the most work for each of them.
inline int layers_of_pass(int left) { return left % 3 == 0 ? 3 : left == 1 ? 1 : 2; }

// The roots of one direction, as vectors.
class Roots {
 public:
  Roots(const uint64_t* values, const uint64_t* quotients, const Modulus& modulus)
      : values_(values),
        quotients_(quotients),
        shift_(_mm_cvtsi32_si128(52 - modulus.bits)),
        // floor(2^(52+k) / q) - 2^52, between 0 and 2^52.
        reciprocal_(broadcast((modulus.barrett >> 11) - (uint64_t{1} << 52))),
        m_(broadcast(modulus)) {}

  VectorMultiplier broadcast_at(size_t t) const { return broadcast(Multiplier{values_[t], quotients_[t]}); }

  // Two, four or eight successive roots, each in 4, 2 or 1 successive lanes. Their quotients are computed:
  // most roots belong to the last layers, where each is used once, and reading both would double the traffic.
  template <bool kRoomy>
  VectorMultiplier two_at(size_t t) const {
    const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values_ + t));
    return with_quotient<kRoomy>(
        _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1), _mm512_castsi128_si512(two)));
  }
  template <bool kRoomy>
  VectorMultiplier four_at(size_t t) const {
    const __m256i four = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values_ + t));
    return with_quotient<kRoomy>(
        _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), _mm512_castsi256_si512(four)));
  }
  template <bool kRoomy>
  VectorMultiplier eight_at(size_t t) const {
    return with_quotient<kRoomy>(load(values_ + t));
  }

 private:
  // floor(w 2^(52-k) M / 2^52) with M = floor(2^(52+k) / q): floor(w 2^52 / q) or one less. A quotient that
  // is one less lets a product x w come to q (1 + 2 x / 2^52): below 2q where x < 2^51, as in the roomy case.
  // In the tight case the remainder w 2^52 - quotient q, which is below 2q, tells which it is.
  template <bool kRoomy>
  VectorMultiplier with_quotient(Vector w) const {
    const Vector scaled = _mm512_sll_epi64(w, shift_);
    const Vector quotient = madd_hi(scaled, scaled, reciprocal_);
    if constexpr (kRoomy) return {w, quotient};
    const Vector remainder = low_52(madd_lo(_mm512_setzero_si512(), quotient, m_.minus_q));
    const __mmask8 short_by_one = _mm512_cmpge_epu64_mask(remainder, m_.q);
    return {w, _mm512_mask_add_epi64(quotient, short_by_one, quotient, broadcast(uint64_t{1}))};
  }

  const uint64_t* values_;
  const uint64_t* quotients_;
  __m128i shift_;
  Vector reciprocal_;
  VectorModulus m_;
};

// root(t), root(2t), root(2t + 1), root(4t), ...: those of kLayers layers below node t.
template <int kLayers>
[[gnu::always_inline]] inline void load_roots(const Roots& roots, size_t t, VectorMultiplier* w) {
#pragma GCC unroll 8
  for (int i = 1; i < 1 << kLayers; ++i) {
    const int layer = i >= 4 ? 2 : i >= 2 ? 1 : 0;
    w[i - 1] = roots.broadcast_at((t << layer) + static_cast<size_t>(i - (1 << layer)));
  }
}

// Exchanges halves, quarters or neighbours of two vectors so that butterflies over 4, 2 and 1 lanes become
// butterflies of whole vectors. From a, b = 16 residues in order:
//   after pair_4: a = (a0..3, b0..3), b = (a4..7, b4..7)
//   after pair_2: a = (a0 a1, a4 a5, b0 b1, b4 b5), b = (a2 a3, a6 a7, b2 b3, b6 b7)
//   after pair_1: a = the even places, b = the odd ones.
// Each undoes itself.
inline void pair_4(Vector& a, Vector& b) {
  const Vector low = _mm512_shuffle_i64x2(a, b, 0x44);
  b = _mm512_shuffle_i64x2(a, b, 0xee);
  a = low;
}
inline void pair_2(Vector& a, Vector& b) {
  const Vector low = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15), b);
  a = low;
}
inline void pair_1(Vector& a, Vector& b) {
  const Vector even = _mm512_unpacklo_epi64(a, b);
  b = _mm512_unpackhi_epi64(a, b);
  a = even;
}
// Between the order and the even and the odd places.
inline void merge_even_odd(Vector& a, Vector& b) {
  const Vector low = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
  a = low;
}
inline void split_even_odd(Vector& a, Vector& b) {
  const Vector even = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
  a = even;
}

// (x, y) -> (x + w y, x - w y).
// Tight: x, y in [0, 4q) -> [0, 4q), x being brought below 2q first.
// Roomy: values grow by 2q; only the low 52 bits of a value count.
template <bool kRoomy>
inline void forward_butterfly(Vector& x, Vector& y, const VectorMultiplier& w, const VectorModulus& m) {
  if constexpr (kRoomy) {
    const Vector sum = multiply_add_raw(x, y, w, m);
    y = sub(add(add(x, x), m.two_q), sum);
    x = sum;
  } else {
    const Vector u = subtract_if_at_least(x, m.two_q);
    const Vector v = multiply_lazy(y, w, m);
    x = add(u, v);
    y = sub(add(u, m.two_q), v);
  }
}

template <bool kRoomy>
class Forward {
 public:
  explicit Forward(const NttView& tables)
      : m_(broadcast(tables.modulus)), roots_(tables.roots, tables.root_quotients, tables.modulus) {}

  // All layers of the block of 2^log_size residues that is node t.
  void block(uint64_t* x, int log_size, size_t t) const {
    if (log_size <= kLeafBits) return leaf(x, log_size, t);
    pass<3>(x, log_size, t);
    for (size_t child = 0; child < 8; ++child) {
      block(x + (child << (log_size - 3)), log_size - 3, 8 * t + child);
    }
  }

 private:
  void leaf(uint64_t* x, int log_size, size_t t) const {
    int done = 0;
    for (int left = log_size - kNarrowLayers; left > 0;) {
      const int layers = layers_of_pass(left);
      for (size_t node = 0; node < size_t{1} << done; ++node) {
        uint64_t* part = x + (node << (log_size - done));
        if (layers == 3) {
          pass<3>(part, log_size - done, (t << done) + node);
        } else if (layers == 2) {
          pass<2>(part, log_size - done, (t << done) + node);
        } else {
          pass<1>(part, log_size - done, (t << done) + node);
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
      forward_butterfly<kRoomy>(low[0], low[kHalf], w[(1 << kLayer) - 1 + node], m);
    }
    if constexpr (kLayer + 1 < kLayers) butterflies<kLayers, kLayer + 1>(v, w, m);
  }

  template <int kLayers>
  [[gnu::always_inline]] void pass(uint64_t* x, int log_size, size_t t) const {
    constexpr size_t kParts = 1 << kLayers;
    const size_t stride = size_t{1} << (log_size - kLayers);
    const VectorModulus m = m_;  // a copy that no store can be suspected of changing
    VectorMultiplier w[kParts - 1];
    load_roots<kLayers>(roots_, t, w);
    for (size_t i = 0; i < stride; i += 8) {
      Vector v[kParts];
#pragma GCC unroll 8
      for (size_t k = 0; k < kParts; ++k) v[k] = load(x + k * stride + i);
      butterflies<kLayers>(v, w, m);
#pragma GCC unroll 8
      for (size_t k = 0; k < kParts; ++k) store(x + k * stride + i, v[k]);
    }
  }

  // The last three layers of `size` residues whose first eight are node t, and the full reduction.
  void narrow_layers(uint64_t* x, size_t size, size_t t) const {
    const VectorModulus m = m_;
    const Roots roots = roots_;
    size_t i = 0;
    for (; i + 128 <= size; i += 128) narrow_step<8>(x + i, t + i / 8, roots, m);
    for (; i < size; i += 16) narrow_step<1>(x + i, t + i / 8, roots, m);
  }

  // kPairs times 16 residues, side by side: each alone is one long chain of dependent instructions.
  template <int kPairs>
  [[gnu::always_inline]] static void narrow_step(uint64_t* x, size_t node, const Roots& roots,
                                                 const VectorModulus& m) {
    Vector a[kPairs], b[kPairs];
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      a[p] = load(x + 16 * p);
      b[p] = load(x + 16 * p + 8);
      pair_4(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      forward_butterfly<kRoomy>(a[p], b[p], roots.two_at<kRoomy>(node + 2 * p), m);
      pair_2(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      forward_butterfly<kRoomy>(a[p], b[p], roots.four_at<kRoomy>(2 * node + 4 * p), m);
      pair_1(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      forward_butterfly<kRoomy>(a[p], b[p], roots.eight_at<kRoomy>(4 * node + 8 * p), m);
      merge_even_odd(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      store(x + 16 * p, fully_reduced(a[p], m));
      store(x + 16 * p + 8, fully_reduced(b[p], m));
    }
  }

  static Vector fully_reduced(Vector x, const VectorModulus& m) {
    if constexpr (kRoomy) return multiply(x, m.one, m);
    return reduce_four_q(x, m);
  }

  VectorModulus m_;
  Roots roots_;
};

// (x, y) -> (x + y, (x - y) w), y at most `bound`, a multiple of q.
// Tight: bound = 2q, all values in [0, 2q). Roomy: sums are left as they are; products are below 2q.
template <bool kRoomy>
inline void inverse_butterfly(Vector& x, Vector& y, const VectorMultiplier& w, Vector bound,
                              const VectorModulus& m) {
  const Vector sum = add(x, y);
  y = multiply_lazy(add(sub(x, y), bound), w, m);
  x = kRoomy ? sum : subtract_if_at_least(sum, m.two_q);
}

template <bool kRoomy>
class Inverse {
 public:
  explicit Inverse(const NttView& tables)
      : m_(broadcast(tables.modulus)),
        roots_(tables.inverse_roots, tables.inverse_root_quotients, tables.modulus),
        inverse_n_(broadcast(tables.inverse_n)),
        inverse_n_root_(broadcast(tables.inverse_n_root)) {
    for (int i = 0; i < 3; ++i) bounds_[i] = broadcast(tables.modulus.q << (kRoomy ? kLogRoomyBound + i : 1));
  }

  void block(uint64_t* x, int log_size, size_t t) const {
    if (log_size <= kLeafBits) {
      narrow_layers(x, size_t{1} << log_size, t << (log_size - kNarrowLayers));
      return wide_layers(x, log_size, t, 0);
    }
    for (size_t child = 0; child < 8; ++child) {
      block(x + (child << (log_size - 3)), log_size - 3, 8 * t + child);
    }
    pass<3>(x, log_size, t);
  }

 private:
  // Between passes, roomy values are at most 8q: the sums of a pass at most 64q < 2^51, of which only the
  // first of eight vectors comes that far (the others descend from a product at most two layers ago) and is
  // reduced.
  static constexpr int kLogRoomyBound = 3;

  // The wide layers of a leaf but for the top `above`, which come last.
  void wide_layers(uint64_t* x, int log_size, size_t t, int above) const {
    const int left = log_size - kNarrowLayers - above;
    if (left == 0) return;
    const int layers = layers_of_pass(left);
    wide_layers(x, log_size, t, above + layers);
    for (size_t node = 0; node < size_t{1} << above; ++node) {
      uint64_t* part = x + (node << (log_size - above));
      if (layers == 3) {
        pass<3>(part, log_size - above, (t << above) + node);
      } else if (layers == 2) {
        pass<2>(part, log_size - above, (t << above) + node);
      } else {
        pass<1>(part, log_size - above, (t << above) + node);
      }
    }
  }

  // The layers of the forward pass in reverse. kWhole: the top one is that of the limb, and divides by N.
  template <int kLayers, bool kWhole, int kLayer = kLayers - 1>
  [[gnu::always_inline]] void butterflies(Vector* v, const VectorMultiplier* w, const VectorModulus& m,
                                          const Vector* bounds) const {
    constexpr int kHalf = 1 << (kLayers - kLayer - 1);
    const Vector bound = bounds[kLayers - kLayer - 1];
#pragma GCC unroll 8
    for (int i = 0; i < 1 << (kLayers - 1); ++i) {
      const int node = i / kHalf;
      Vector* low = v + 2 * kHalf * node + i % kHalf;
      if constexpr (kWhole && kLayer == 0) {
        // ((x + y) / N, (x - y) w / N), fully reduced.
        const Vector sum = add(low[0], low[kHalf]);
        const Vector difference = add(sub(low[0], low[kHalf]), bound);
        low[0] = multiply(sum, inverse_n_, m);
        low[kHalf] = multiply(difference, inverse_n_root_, m);
      } else {
        inverse_butterfly<kRoomy>(low[0], low[kHalf], w[(1 << kLayer) - 1 + node], bound, m);
      }
    }
    if constexpr (kLayer > 0) {
      butterflies<kLayers, kWhole, kLayer - 1>(v, w, m, bounds);
    } else if constexpr (kRoomy && !kWhole) {
      v[0] = multiply_lazy(v[0], m.one, m);
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
  void narrow_layers(uint64_t* x, size_t size, size_t t) const {
    const VectorModulus m = m_;
    const Roots roots = roots_;
    size_t i = 0;
    for (; i + 128 <= size; i += 128) narrow_step<8>(x + i, t + i / 8, roots, bounds_[0], m);
    for (; i < size; i += 16) narrow_step<1>(x + i, t + i / 8, roots, bounds_[0], m);
  }

  template <int kPairs>
  [[gnu::always_inline]] static void narrow_step(uint64_t* x, size_t node, const Roots& roots, Vector bound,
                                                 const VectorModulus& m) {
    Vector a[kPairs], b[kPairs];
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      a[p] = load(x + 16 * p);
      b[p] = load(x + 16 * p + 8);
      split_even_odd(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      inverse_butterfly<kRoomy>(a[p], b[p], roots.eight_at<kRoomy>(4 * node + 8 * p), bound, m);
      pair_1(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      inverse_butterfly<kRoomy>(a[p], b[p], roots.four_at<kRoomy>(2 * node + 4 * p), bound, m);
      pair_2(a[p], b[p]);
    }
#pragma GCC unroll 8
    for (size_t p = 0; p < kPairs; ++p) {
      inverse_butterfly<kRoomy>(a[p], b[p], roots.two_at<kRoomy>(node + 2 * p), bound, m);
      pair_4(a[p], b[p]);
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

}  // namespace

void ntt_forward_avx512ifma(uint64_t* x, const NttView& tables) {
  if (tables.modulus.bits <= kRoomyBits) {
    Forward<true>(tables).block(x, tables.log_n, 1);
  } else {
    Forward<false>(tables).block(x, tables.log_n, 1);
  }
}

void ntt_inverse_avx512ifma(uint64_t* x, const NttView& tables) {
  if (tables.modulus.bits <= kRoomyBits) {
    Inverse<true>(tables).block(x, tables.log_n, 1);
  } else {
    Inverse<false>(tables).block(x, tables.log_n, 1);
  }
}

}  // namespace psm
