// The roofline: the least time that an operation can take, from the bytes it must move and the products it
// must compute.
//
//     roofline = max( bytes / memory bandwidth,  multiply-accumulates / rate )
//
// Counted analytically, once for each operation:
//   bytes  operands, keys and results, each once; traffic that stays in the caches is free;
//   macs   modular multiply-accumulates: N/2 log2(N) butterflies for an NTT of one limb, N for a product or a
//          step of a basis conversion. Sums, permutations and random numbers are free.
// Bandwidth and rate are measured on this machine. The rate is that of a basis conversion in the first-level
// cache with the backend in use, with one reduction for each sum. With IFMA that is two instructions for each
// product, at about three quarters of the processor's peak. A butterfly takes longer than such a product, so
// no transform reaches its roofline.
//
// Operands that repeat from run to run may stay in the last-level cache. Then bytes cost less than counted.
#pragma once

#include "ckks/program/planning/cost_model.h"
#include "ckks/ring/ring.h"

namespace psm::cmd {

struct MachineRates {
  double bytes_per_second = 0;  // read from memory
  double macs_per_second = 0;
};

// Measures with the threads in use (thread_count()).
MachineRates measure_machine(const ckks::Ring& ring);

struct OperationCount {
  double bytes = 0;
  double macs = 0;
  bool in_cache = false;  // the operands stay in the caches: bytes cost nothing

  double roofline_ms(const MachineRates& machine) const;
};

// The multiply-accumulates of work that the cost model counts.
double macs_of(const program::Work& work, int log_n);

}  // namespace psm::cmd
