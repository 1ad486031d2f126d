// A server's commitment to what it computes, and the check of it by whoever has program, evaluation keys, encrypted
// prompts and answers. No secret is needed, and nothing is decrypted.
//
//   1. The server hashes every value that crosses between steps (steps.h). The root of the Merkle tree over these
//      digests goes with the answers.
//   2. The auditor draws k of the n steps.
//   3. The server runs the program again (it kept nothing, and the bits are the same) and opens the arguments of these
//      steps: the ciphertexts that are no inputs, and a path to the root for each value that enters or leaves a step.
//   4. The auditor computes the k steps again (check.h).
//
// If the answers are not those of program and prompts, at least one step's results do not follow from its arguments,
// and it is found if it is drawn: with probability k / n or more, if the draw was not known before the root.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "ckks/base/clock.h"
#include "ckks/base/parallel.h"
#include "ckks/program/commit/merkle_tree.h"
#include "ckks/program/commit/steps.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::program {

// The digest of a ciphertext: SHA-256(0 || d_0 || d_1 || ...), where d_i is SHA-256 of a limb's residues as 64-bit words,
// limb after limb, c_0 before c_1.
inline Digest digest_of(const ckks::Ciphertext& ciphertext) {
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

struct Proof {
  Digest leaf{};
  std::vector<Digest> path;
};

// What the opening of some steps has, in the order of Steps::crossing().
struct OpenedValues {
  OpenedValues(const Steps& steps, const std::vector<size_t>& challenged) {
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
  std::vector<Value> proved;       // arguments and results of the steps, and the outputs of the program
  std::vector<Value> ciphertexts;  // arguments that are no inputs
};

struct Opening {
  std::vector<Proof> proofs;                    // of OpenedValues::proved
  std::map<int, ckks::Ciphertext> ciphertexts;  // by value
};

// Hashes the values of a run that cross, and keeps those that will be opened.
class CommittedRun {
 public:
  CommittedRun(const Steps& steps, const std::vector<size_t>& challenged)
      : steps_(steps), opened_(steps, challenged), leaves_(steps.crossing().size()) {
    for (const Value value : opened_.ciphertexts) kept_[value.id];
  }
  // Every value of the run, in any order (RunOptions::observe).
  void observe(Value value, const ckks::Ciphertext& ciphertext) {
    const size_t place = steps_.place(value);
    if (place == leaves_.size()) return;
    const double start = seconds_now();
    leaves_[place] = digest_of(ciphertext);
    seconds_ += seconds_now() - start;
    if (const auto kept = kept_.find(value.id); kept != kept_.end()) kept->second = ciphertext.clone();
  }
  // After the run.
  Digest root() const { return MerkleTree(leaves_).root(); }
  Opening open() && {
    const MerkleTree tree(leaves_);
    Opening opening;
    for (const Value value : opened_.proved) {
      const size_t place = steps_.place(value);
      opening.proofs.push_back({tree.leaf(place), tree.path(place)});
    }
    opening.ciphertexts = std::move(kept_);
    return opening;
  }
  double seconds() const { return seconds_; }  // taken by hashing

 private:
  const Steps& steps_;
  const OpenedValues opened_;
  std::vector<Digest> leaves_;
  std::map<int, ckks::Ciphertext> kept_;
  double seconds_ = 0;
};

}  // namespace psm::program
