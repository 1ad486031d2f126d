// Digests of every instruction's results in a run, for comparison with another implementation, other kernels or another
// machine.
//
// A digest is the first eight bytes of SHA-256 of an instruction's results, residue after residue. It is an exact
// function of the program, the keys and the inputs (FORMATS.md, Exact results).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ckks/base/random/sha256.h"
#include "ckks/program/machines/encrypted_machine.h"

namespace psm::cmd {

class RunDigests {
 public:
  // Makes a run add the results of its instructions. The object outlives the run.
  void watch(program::RunOptions& options);
  // Returns the digests of all instructions so far, and forgets them.
  std::vector<uint64_t> take();

 private:
  std::map<size_t, Sha256> sums_;
};

}  // namespace psm::cmd
