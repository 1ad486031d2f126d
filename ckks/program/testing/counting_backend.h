// Counts what the kernels (kernels.h) do: a backend that passes every call on to the one in use and adds up
// the residues. For tests that compare a cost model with real runs.
//
// All figures are residues, not calls, because callers cut limbs into stretches as they like. N residues are a limb.
#pragma once

#include <cstdint>

#include "ckks/ring/kernels/kernels.h"

namespace psm::ckks {

struct KernelResidues {
  uint64_t transforms = 0;  // forward and inverse NTTs
  uint64_t products = 0;    // of residues by residues, added up or not: one for every pair that is multiplied
  uint64_t run_products = 0;  // by periodic plaintexts (matrix products with runs)
  uint64_t conversions = 0;   // one source to one target, the multiple of Q among the sources
  uint64_t automorphisms = 0;
  uint64_t key_bits = 0;  // of packed keys that were read
  uint64_t others =
      0;  // sums, products by one constant, reductions to another prime, nearest multiples: by operand
  // Key products modulo the marked prime alone. A key switch works on q_0 once, so marking q_0 counts key switches.
  uint64_t marked_key_products = 0;
};

// Counts while it lives; only one may live. Work under way at its beginning or end is counted in part.
class KernelCounter {
 public:
  explicit KernelCounter(uint64_t marked_prime);
  ~KernelCounter();
  KernelCounter(const KernelCounter&) = delete;
  KernelCounter& operator=(const KernelCounter&) = delete;

  // Since the last call.
  KernelResidues take();
};

}  // namespace psm::ckks
