// The negacyclic transform, eight residues at a time.
//
// The layers of the reference are taken two or three at once (radix 4 and 8), so that data passes through
// registers a third as often, and depth first: a block is finished before its neighbour begins, so that from
// the first layers on the work lies in the caches without their sizes being named. The last six layers happen
// on 64 residues in registers.
//
// A block is a node of a binary tree: the whole limb is node 1, and node t splits into 2t and 2t + 1 with
// root(t).
#include "ckks/ring/ntt_avx512ifma.h"

#include "ckks/ring/avx512ifma.h"

namespace psm {
namespace {

// Moduli below 2^46 leave six bits and more above q, enough to let values grow by 2q a layer and by a factor
// of eight a pass, and to reduce rarely. Both variants end with the same bits.
constexpr int kRoomyBits = 46;

struct Roots {
  const uint64_t* values;
  const uint64_t* quotients;

  VectorMultiplier broadcast_at(size_t t) const { return broadcast(Multiplier{values[t], quotients[t]}); }
  // Two, four or eight successive roots, each for 4, 2 or 1 successive lanes.
  VectorMultiplier two_at(size_t t) const {
    return {spread_two(values + t), shifted(spread_two(quotients + t))};
  }
  VectorMultiplier four_at(size_t t) const {
    return {spread_four(values + t), shifted(spread_four(quotients + t))};
  }
  VectorMultiplier eight_at(size_t t) const { return {load(values + t), shifted(load(quotients + t))}; }

 private:
  static Vector shifted(Vector quotient) { return _mm512_srli_epi64(quotient, 12); }
  static Vector spread_two(const uint64_t* p) {
    const Vector two = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1), two);
  }
  static Vector spread_four(const uint64_t* p) {
    const Vector four = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), four);
  }
};

// (x, y) -> (x + w y, x - w y).
// Tight (q < 2^50): x, y in [0, 4q) -> [0, 4q), x being brought below 2q first.
// Roomy: x grows by 2q; only the low 52 bits of a value count, and are below 2^52 as long as the bound is.
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

// Exchanges halves, quarters or neighbours of two vectors so that butterflies over 4, 2 and 1 lanes become
// butterflies of whole vectors. From a, b = 16 residues in order:
//   after pair_4: a = (a0..3, b0..3), b = (a4..7, b4..7)
//   after pair_2: a = (a0 a1, a4 a5, b0 b1, b4 b5), b = (a2 a3, a6 a7, b2 b3, b6 b7)
//   after pair_1: a = the even places, b = the odd ones.
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
// From the even and the odd places back to the order.
inline void unpair(Vector& a, Vector& b) {
  const Vector low = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11), b);
  b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15), b);
  a = low;
}

template <bool kRoomy>
class Forward {
 public:
  Forward(const NttView& tables)
      : m_(broadcast(tables.modulus)), roots_{tables.roots, tables.root_quotients} {}

  // All layers of the block of 2^log_size residues that is node t. 6 <= log_size.
  void block(uint64_t* x, int log_size, size_t t) const {
    const int above = log_size - 6;
    if (above == 0) return last_six_layers(x, t);
    const int layers = above == 1 ? 1 : above == 2 || above == 4 ? 2 : 3;
    if (layers == 3) {
      pass<3>(x, log_size, t);
    } else if (layers == 2) {
      pass<2>(x, log_size, t);
    } else {
      pass<1>(x, log_size, t);
    }
    for (size_t child = 0; child < size_t{1} << layers; ++child) {
      block(x + (child << (log_size - layers)), log_size - layers, (t << layers) + child);
    }
  }

 private:
  // 2^kLayers vectors, one from each of as many equal parts of a block, through kLayers layers.
  // w holds root(t), root(2t), root(2t + 1), root(4t), ... .
  template <int kLayers>
  void butterflies(Vector* v, const VectorMultiplier* w) const {
    constexpr int kParts = 1 << kLayers;
    for (int layer = 0; layer < kLayers; ++layer) {
      const int half = kParts >> (layer + 1);
      for (int node = 0; node < 1 << layer; ++node) {
        for (int i = 0; i < half; ++i) {
          Vector* low = v + 2 * half * node + i;
          forward_butterfly<kRoomy>(low[0], low[half], w[(1 << layer) - 1 + node], m_);
        }
      }
    }
  }

  template <int kLayers>
  void load_roots(VectorMultiplier* w, size_t t) const {
    for (int layer = 0; layer < kLayers; ++layer) {
      for (int node = 0; node < 1 << layer; ++node) {
        w[(1 << layer) - 1 + node] = roots_.broadcast_at((t << layer) + static_cast<size_t>(node));
      }
    }
  }

  template <int kLayers>
  void pass(uint64_t* x, int log_size, size_t t) const {
    constexpr int kParts = 1 << kLayers;
    const size_t stride = size_t{1} << (log_size - kLayers);
    VectorMultiplier w[kParts - 1];
    load_roots<kLayers>(w, t);
    for (size_t i = 0; i < stride; i += 8) {
      Vector v[kParts];
      for (size_t k = 0; k < kParts; ++k) v[k] = load(x + k * stride + i);
      butterflies<kLayers>(v, w);
      for (size_t k = 0; k < kParts; ++k) store(x + k * stride + i, v[k]);
    }
  }

  // The 64 residues of node t, to the end, fully reduced.
  void last_six_layers(uint64_t* x, size_t t) const {
    VectorMultiplier w[7];
    load_roots<3>(w, t);
    Vector v[8];
    for (int k = 0; k < 8; ++k) v[k] = load(x + 8 * k);
    butterflies<3>(v, w);
    for (size_t k = 0; k < 8; k += 2) {
      Vector a = v[k], b = v[k + 1];
      const size_t node = 8 * t + k;
      pair_4(a, b);
      forward_butterfly<kRoomy>(a, b, roots_.two_at(node), m_);
      pair_2(a, b);
      forward_butterfly<kRoomy>(a, b, roots_.four_at(2 * node), m_);
      pair_1(a, b);
      forward_butterfly<kRoomy>(a, b, roots_.eight_at(4 * node), m_);
      unpair(a, b);
      store(x + 8 * k, fully_reduced(a));
      store(x + 8 * k + 8, fully_reduced(b));
    }
  }

  Vector fully_reduced(Vector x) const {
    if constexpr (kRoomy) return multiply(x, m_.one, m_);
    return reduce_four_q(x, m_);
  }

  VectorModulus m_;
  Roots roots_;
};

// (x, y) -> (x + y, (x - y) w), y below `bound`, a multiple of q.
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
  Inverse(const NttView& tables)
      : m_(broadcast(tables.modulus)),
        roots_{tables.inverse_roots, tables.inverse_root_quotients},
        inverse_n_(broadcast(tables.inverse_n)),
        inverse_n_root_(broadcast(tables.inverse_n_root)) {
    for (int i = 0; i < 3; ++i) bounds_[i] = broadcast(tables.modulus.q << (kRoomy ? kRoomyBound + i : 1));
  }

  void limb(uint64_t* x, int log_n) const { block<true>(x, log_n, 1); }

 private:
  // Between passes, roomy values are below 8q: the sums of a pass at most 64q < 2^52, of which only the first
  // of eight vectors comes that far (the others descend from a product at most two layers ago) and is
  // reduced.
  static constexpr int kRoomyBound = 3;

  // kWhole: the block is the limb, and its last layer divides by N.
  template <bool kWhole>
  void block(uint64_t* x, int log_size, size_t t) const {
    const int above = log_size - 6;
    if (above == 0) return first_six_layers<kWhole>(x, t);
    const int layers = above == 1 ? 1 : above == 2 || above == 4 ? 2 : 3;
    for (size_t child = 0; child < size_t{1} << layers; ++child) {
      block<false>(x + (child << (log_size - layers)), log_size - layers, (t << layers) + child);
    }
    if (layers == 3) {
      pass<3, kWhole>(x, log_size, t);
    } else if (layers == 2) {
      pass<2, kWhole>(x, log_size, t);
    } else {
      pass<1, kWhole>(x, log_size, t);
    }
  }

  template <int kLayers, bool kWhole>
  void butterflies(Vector* v, const VectorMultiplier* w) const {
    constexpr int kParts = 1 << kLayers;
    for (int layer = kLayers - 1; layer >= (kWhole ? 1 : 0); --layer) {
      const int half = kParts >> (layer + 1);
      for (int node = 0; node < 1 << layer; ++node) {
        for (int i = 0; i < half; ++i) {
          Vector* low = v + 2 * half * node + i;
          inverse_butterfly<kRoomy>(low[0], low[half], w[(1 << layer) - 1 + node],
                                    bounds_[kLayers - 1 - layer], m_);
        }
      }
    }
    if constexpr (kWhole) {
      // ((x + y) / N, (x - y) w / N), fully reduced.
      for (int i = 0; i < kParts / 2; ++i) {
        const Vector sum = add(v[i], v[i + kParts / 2]);
        const Vector difference = add(sub(v[i], v[i + kParts / 2]), bounds_[kLayers - 1]);
        v[i] = multiply(sum, inverse_n_, m_);
        v[i + kParts / 2] = multiply(difference, inverse_n_root_, m_);
      }
    } else if constexpr (kRoomy) {
      v[0] = multiply_lazy(v[0], m_.one, m_);
    }
  }

  template <int kLayers>
  void load_roots(VectorMultiplier* w, size_t t) const {
    for (int layer = 0; layer < kLayers; ++layer) {
      for (int node = 0; node < 1 << layer; ++node) {
        w[(1 << layer) - 1 + node] = roots_.broadcast_at((t << layer) + static_cast<size_t>(node));
      }
    }
  }

  template <int kLayers, bool kWhole>
  void pass(uint64_t* x, int log_size, size_t t) const {
    constexpr int kParts = 1 << kLayers;
    const size_t stride = size_t{1} << (log_size - kLayers);
    VectorMultiplier w[kParts - 1];
    load_roots<kLayers>(w, t);
    for (size_t i = 0; i < stride; i += 8) {
      Vector v[kParts];
      for (size_t k = 0; k < kParts; ++k) v[k] = load(x + k * stride + i);
      butterflies<kLayers, kWhole>(v, w);
      for (size_t k = 0; k < kParts; ++k) store(x + k * stride + i, v[k]);
    }
  }

  template <bool kWhole>
  void first_six_layers(uint64_t* x, size_t t) const {
    VectorMultiplier w[7];
    load_roots<3>(w, t);
    Vector v[8];
    for (size_t k = 0; k < 8; k += 2) {
      // The permutations of the forward transform, undone in reverse: each but `unpair` is its own inverse.
      Vector a = load(x + 8 * k), b = load(x + 8 * k + 8);
      const size_t node = 8 * t + k;
      into_pairs(a, b);
      inverse_butterfly<kRoomy>(a, b, roots_.eight_at(4 * node), bounds_[0], m_);
      pair_1(a, b);
      inverse_butterfly<kRoomy>(a, b, roots_.four_at(2 * node), bounds_[0], m_);
      pair_2(a, b);
      inverse_butterfly<kRoomy>(a, b, roots_.two_at(node), bounds_[0], m_);
      pair_4(a, b);
      v[k] = a;
      v[k + 1] = b;
    }
    butterflies<3, kWhole>(v, w);
    for (int k = 0; k < 8; ++k) store(x + 8 * k, v[k]);
  }

  // The even and the odd places of 16 residues.
  static void into_pairs(Vector& a, Vector& b) {
    const Vector even = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14), b);
    b = _mm512_permutex2var_epi64(a, _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15), b);
    a = even;
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
    Inverse<true>(tables).limb(x, tables.log_n);
  } else {
    Inverse<false>(tables).limb(x, tables.log_n);
  }
}

}  // namespace psm
