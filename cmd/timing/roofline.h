// The roofline: the least time an operation can take, from what it must move and what it must compute.
//
//     roofline = max( bytes / memory bandwidth,  multiply-accumulates / rate )
//
// Counted analytically, once for each operation:
//   bytes  operands, keys and results, each once: what the caches hold in between is free;
//   macs   modular multiply-accumulates: N/2 log2(N) butterflies for an NTT of one limb, N for a product or a
//          step of a basis conversion. Sums, permutations and random numbers are free.
// Bandwidth and rate are measured on this machine. The rate is that of a basis conversion in the first-level
// cache with the backend in use, reduced once a sum: with IFMA two instructions a product, issued at some
// three quarters of what the processor could. A butterfly takes longer than such a product, so the roofline
// of a transform is a floor that no transform reaches.
//
// Operands that repeat from run to run may stay in the last-level cache; then bytes weigh less than counted.
#pragma once

#include "ckks/program/planning/cost_model.h"
#include "ckks/ring/ring.h"

namespace psm::cmd {

struct MachineRates {
  double bytes_per_second = 0;  // read from memory
  double macs_per_second = 0;
};

// With the threads in use (thread_count()); well under a second.
MachineRates measure_machine(const ckks::Ring& ring);

struct OperationCount {
  double bytes = 0;
  double macs = 0;
  bool in_cache = false;  // the operands stay in the caches: bytes cost nothing

  double roofline_ms(const MachineRates& machine) const;
};

// Multiply-accumulates of the work that the cost model counts.
double macs_of(const program::Work& work, int log_n);

}  // namespace psm::cmd
