// What is said of a program's instructions: the names under which their seconds are summed, which are what one computes,
// by the labels of attention/encrypted, and what kind of operation it is; and digests of what they made.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ckks/base/random/sha256.h"
#include "ckks/program/program.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::cmd {

// All bootstraps together are a part of their own.
const char* computed_part(const program::Instruction&);

// A linear map counts as a whole, rotations and plaintext products.
const char* operation_part(program::Opcode);

// Digests of every instruction's results in a run, for comparison with another implementation, other kernels
// or another machine.
//
// A digest is the first eight bytes of SHA-256 of an instruction's results, residue after residue. It is an
// exact function of the program, the keys and the inputs (FORMATS.md, Exact results).
class RunDigests {
 public:
  // Adds a result of an instruction. All must come in order.
  void add(size_t instruction, const ckks::Ciphertext& result);
  // Returns the digests of all instructions so far, and forgets them.
  std::vector<uint64_t> take();

 private:
  std::map<size_t, Sha256> sums_;
};

}  // namespace psm::cmd
