// Digests of what every instruction of a run made: what another implementation, other kernels or another machine compare
// their results with.
//
// A digest is the first eight bytes of SHA-256 of an instruction's results, residue after residue. It is an exact
// function of the program, the keys and the inputs (FORMATS.md, Results).
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ckks/base/random/sha256.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::cmd {

class RunDigests {
 public:
  // Every result of an instruction, in order.
  void add(size_t instruction, const ckks::Ciphertext& result);
  // Returns the digests of all instructions so far, and forgets them.
  std::vector<uint64_t> take();

 private:
  std::map<size_t, Sha256> sums_;
};

}  // namespace psm::cmd
