// Block programs: kernels that run anywhere. A program is a plain struct that says what one thread of one
// block does between two barriers:
//
//     struct Program {
//       static constexpr const char* kName;
//       static constexpr int kPhases;         // barriers of a block stand between phases
//       static constexpr int kMaxThreads;     // of a block
//       static constexpr size_t kSharedWords; // that a block's threads share, at least 1
//       uint32_t blocks() const;
//       uint32_t threads() const;             // of a block, at most kMaxThreads
//       Work work() const;
//       template <int kPhase> constexpr void phase(Place at, uint64_t* shared) const;
//     };
//
// Its fields are its arguments: at most kMaxProgramBytes, addresses in them are those of device memory.
// Within a phase no thread reads what another one writes, so threads may run in any order. Blocks of a launch
// are independent. Registers do not outlive a phase.
//
// CUDA calls the phases with __syncthreads() between them (cuda_device.cu, where constexpr functions are
// device functions too); EmulatedDevice loops over blocks, phases and threads. One source, one arithmetic.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ckks/device/programs/double_residue.h"

// For loops over arrays that must stay in registers; and for others, some turns at a time.
#if defined(__CUDACC__)
#define PSM_UNROLL _Pragma("unroll")
#define PSM_UNROLL_4 _Pragma("unroll 4")
#else
#define PSM_UNROLL _Pragma("GCC unroll 16")
#define PSM_UNROLL_4
#endif

namespace psm::ckks {

constexpr size_t kMaxProgramBytes = 4096;
constexpr int kMaxDeviceLimbs = 64;  // of a polynomial

struct Place {
  uint32_t block, thread;
};

// The work of a launch, for the log and for predictions: bytes of operands, tables and results, each once;
// products of two residues.
struct Work {
  uint64_t bytes = 0;
  uint64_t products = 0;
};

// The primes of a polynomial's limbs, as programs find them: limb j of the basis {q, p} belongs to prime j of
// the ring's table, or j - q + q_count (Ring::prime_index).
struct LimbPrimes {
  const PrimeView* views = nullptr;  // of all primes of the ring
  int q = 0, p = 0;                  // the basis
  int q_count = 0;                   // of the ring

  constexpr int limbs() const { return q + p; }
  constexpr int prime(int j) const { return j < q ? j : q_count + j - q; }
  constexpr const PrimeView& view(int j) const { return views[prime(j)]; }
  constexpr const Modulus& modulus(int j) const { return view(j).modulus; }
};

// Elementwise programs: each thread makes one residue, a block kElementThreads neighbours of one limb.
constexpr int kElementThreads = 256;
struct OfElements {
  static constexpr int kPhases = 1;
  static constexpr int kMaxThreads = kElementThreads;
  static constexpr size_t kSharedWords = 1;

  uint32_t threads() const { return kMaxThreads; }
  // Blocks of a limb.
  static constexpr uint32_t chunks(int log_n) { return (uint32_t{1} << log_n) / kElementThreads; }
};

// X -> X^g on a limb in NTT form, one place at a time: where the residue of a result comes from
// (ckks/ring/arithmetic/automorphism.h). Neighbours of eight come from neighbours of eight.
struct Permutation {
  const uint32_t* blocks = nullptr;        // AutomorphismView::blocks; null for the identity
  const uint64_t* permutations = nullptr;  // its eight rows, one after another

  constexpr uint64_t source(uint64_t place) const {
    if (blocks == nullptr) return place;
    const uint32_t block = blocks[place / 8];
    return block / 8 * 8 + permutations[block % 8 * 8 + place % 8];
  }
};

}  // namespace psm::ckks
