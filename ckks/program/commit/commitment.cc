#include "ckks/program/commit/commitment.h"

#include <chrono>
#include <utility>

#include "ckks/base/parallel.h"

namespace psm::program {

Digest digest_of(const ckks::Ciphertext& ciphertext) {
  const size_t limbs = static_cast<size_t>(ciphertext.c[0].limbs());
  std::vector<Digest> digests(2 * limbs);
  parallel_for(0, digests.size(), [&](size_t i) {
    const ckks::RnsPoly& poly = ciphertext.c[i / limbs];
    digests[i] =
        sha256(poly.limb(static_cast<int>(i % limbs)), static_cast<size_t>(poly.n()) * sizeof(uint64_t));
  });
  const uint8_t zero = 0;
  Sha256 sum;
  sum.update(&zero, 1);
  for (const Digest& digest : digests) sum.update(digest.data(), digest.size());
  return sum.digest();
}

OpenedValues::OpenedValues(const Steps& steps, const std::vector<size_t>& challenged) {
  std::vector<char> is_proved(steps.crossing().size()), is_argument(steps.crossing().size());
  for (const size_t step : challenged) {
    for (const Value value : steps.at(step).arguments)
      is_proved[steps.place(value)] = is_argument[steps.place(value)] = 1;
    for (const Value value : steps.at(step).results) is_proved[steps.place(value)] = 1;
  }
  for (const NamedValue& output : steps.plan().program.outputs) is_proved[steps.place(output.value)] = 1;
  for (size_t i = 0; i < steps.crossing().size(); ++i) {
    const Value value = steps.crossing()[i];
    if (is_proved[i]) proved.push_back(value);
    if (is_argument[i] && !steps.is_input(value)) ciphertexts.push_back(value);
  }
}

CommittedRun::CommittedRun(const Steps& steps, const std::vector<size_t>& challenged)
    : steps_(steps), opened_(steps, challenged), leaves_(steps.crossing().size()) {
  for (const Value value : opened_.ciphertexts) kept_[value.id];
}

void CommittedRun::observe(Value value, const ckks::Ciphertext& ciphertext) {
  const size_t place = steps_.place(value);
  if (place == leaves_.size()) return;
  const auto start = std::chrono::steady_clock::now();
  leaves_[place] = digest_of(ciphertext);
  seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (const auto kept = kept_.find(value.id); kept != kept_.end()) kept->second = ciphertext.clone();
}

Opening CommittedRun::open() && {
  const MerkleTree tree(leaves_);
  Opening opening;
  for (const Value value : opened_.proved) {
    const size_t place = steps_.place(value);
    opening.proofs.push_back({tree.leaf(place), tree.path(place)});
  }
  opening.ciphertexts = std::move(kept_);
  return opening;
}

}  // namespace psm::program
