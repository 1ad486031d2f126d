// Sums of products of the AVX-512-IFMA backend: two 64-bit halves a sum, reduced once; see avx512ifma.h. Included only by
// backend_avx512ifma.cc.
#pragma once

#include "ckks/ring/kernels/avx512ifma.h"

namespace psm::ckks {
namespace {

using Residues = Vector;
constexpr int kLanes = 8, kSumRows = 4, kSumVectors = 2, kPackedVectors = 4, kTensorVectors = 4;

inline Vector load_residues(const uint64_t* p) { return load(p); }
inline void store_residues(uint64_t* p, Vector x) { store(p, x); }
inline Vector broadcast_residue(uint64_t x) { return broadcast(x); }

// Eight packed residues are `bits` bytes: each lane takes the eight bytes that its residue begins in.
struct Unpacker {
  size_t stride;
  Vector bytes, shifts, mask;

  explicit Unpacker(int bits)
      : stride(static_cast<size_t>(bits)), mask(broadcast((uint64_t{1} << bits) - 1)) {
    alignas(64) uint8_t places[64];
    alignas(64) uint64_t shift[8];
    for (int lane = 0; lane < 8; ++lane) {
      shift[lane] = static_cast<uint64_t>(lane * bits % 8);
      for (int k = 0; k < 8; ++k) places[8 * lane + k] = static_cast<uint8_t>(lane * bits / 8 + k);
    }
    bytes = _mm512_load_si512(places);
    shifts = _mm512_load_si512(shift);
  }
  Vector operator()(const uint8_t* packed, int v) const {
    const Vector words =
        _mm512_permutexvar_epi8(bytes, _mm512_loadu_si512(packed + static_cast<size_t>(v) * stride));
    return _mm512_and_si512(_mm512_srlv_epi64(words, shifts), mask);
  }
};

// The eight residues from place i on of a transform that is constant on runs of 2^log_run <= 4, of which c
// holds one each.
inline Vector load_short_runs(const uint64_t* c, size_t i, int log_run) {
  const uint64_t* from = c + (i >> log_run);
  if (log_run == 0) return load(from);
  if (log_run == 1) {
    const Vector four = _mm512_castsi256_si512(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), four);
  }
  const Vector two = _mm512_castsi128_si512(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  return _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1), two);
}

}  // namespace
}  // namespace psm::ckks

#include "ckks/ring/kernels/sums_simd.h"
