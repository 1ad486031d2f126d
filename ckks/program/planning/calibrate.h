// Calibration: the seconds of each kernel for one limb on this machine, with all threads, in the ring of a
// context. First the kernels are timed alone, then a whole key switch. All are scaled so that their sum is
// the key switch's time.
#pragma once

#include <string>

#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"

namespace psm::program {

struct Calibration {
  KernelSeconds kernels;
  // Whether other programs often took the processor. The seconds are still meant for an idle machine, but less exact.
  bool busy = false;
  // The median time of a whole key switch less its shortest time, as a share of the shortest.
  double spread = 0;
  // Text to print after seconds predicted from these kernels: " (spread 3%)".
  std::string caveat() const;
};

// Runs every kernel for about `seconds` / 9 on buffers larger than the caches, as the evaluator does; up to three times
// as long if other programs disturb it, or if that is too short for 16 calls.
Calibration calibrate(const ckks::Context&, double seconds = 2);

// The mean of two, before and after what is predicted, say. Their difference counts as spread.
Calibration mean(const Calibration&, const Calibration&);

// The seconds with so many threads, from those with one and with two: of a kernel that takes s_1 and s_2, f = 2 s_2 -
// s_1 does not get shorter, so s = f + (s_1 - f) / threads. Memory that more cores have is not known to it.
KernelSeconds at_threads(const KernelSeconds& one, const KernelSeconds& two, int threads);

// Seconds for each byte of encoded plaintexts, with all threads. A first pass takes this much longer than a
// warm one, if its memory has been touched (ckks/base/touched_memory.h).
double encode_seconds_per_byte(const ckks::Context&, double seconds = 0.1);

}  // namespace psm::program
