#include "cmd/server/run_digests.h"

namespace psm::cmd {

void RunDigests::watch(program::RunOptions& options) {
  options.observe = [this](size_t instruction, program::Value, const ckks::Ciphertext& result) {
    Sha256& sum = sums_[instruction];
    for (const ckks::RnsPoly& c : result.c)
      for (int j = 0; j < c.limbs(); ++j)
        sum.update(c.limb(j), static_cast<size_t>(c.n()) * sizeof(uint64_t));
  };
}

std::vector<uint64_t> RunDigests::take() {
  std::vector<uint64_t> digests(sums_.empty() ? 0 : sums_.rbegin()->first + 1);
  for (const auto& [instruction, sum] : sums_) {
    const Sha256::Digest digest = sum.digest();
    for (size_t byte = 0; byte < sizeof(uint64_t); ++byte)
      digests[instruction] = digests[instruction] << 8 | digest[byte];
  }
  sums_.clear();
  return digests;
}

}  // namespace psm::cmd
