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
  void watch(program::RunOptions& options) {
    options.observe = [this](size_t instruction, program::Value, const ckks::Ciphertext& result) {
      Sha256& sum = sums_[instruction];
      for (const ckks::RnsPoly& c : result.c)
        for (int j = 0; j < c.limbs(); ++j)
          sum.update(c.limb(j), static_cast<size_t>(c.n()) * sizeof(uint64_t));
    };
  }
  // Returns the digests of all instructions so far, and forgets them.
  std::vector<uint64_t> take() {
    std::vector<uint64_t> digests(sums_.empty() ? 0 : sums_.rbegin()->first + 1);
    for (const auto& [instruction, sum] : sums_) {
      const Sha256::Digest digest = sum.digest();
      for (size_t byte = 0; byte < sizeof(uint64_t); ++byte)
        digests[instruction] = digests[instruction] << 8 | digest[byte];
    }
    sums_.clear();
    return digests;
  }

 private:
  std::map<size_t, Sha256> sums_;
};

}  // namespace psm::cmd
