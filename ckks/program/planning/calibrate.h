// Calibration: what a limb of each kernel takes on this machine, with all threads, at the ring of a context.
// The kernels are timed alone, then a whole key switch, and all of them are scaled so that it takes what it
// takes.
#pragma once

#include <string>

#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"

namespace psm::program {

struct Calibration {
  KernelSeconds kernels;
  // Whether other programs often took the processor. The seconds remain those of an idle machine, but rough.
  bool busy = false;
  // By how much of its shortest time the middle one of a whole key switch's times is longer.
  double spread = 0;
  // What to print after seconds predicted from these kernels: " (spread 3%)".
  std::string caveat() const;
};

// Runs every kernel for about `seconds` / 8 on buffers larger than the caches, as the evaluator does; three
// times as long where other programs disturb it.
Calibration calibrate(const ckks::Context&, double seconds = 2);

// Seconds for each byte of encoded plaintexts, with all threads: what a first pass pays more than a warm one,
// where its memory has been touched (ckks/base/touched_memory.h).
double encode_seconds_per_byte(const ckks::Context&);

}  // namespace psm::program
