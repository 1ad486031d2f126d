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
#include <vector>

#include "ckks/program/commit/merkle_tree.h"
#include "ckks/program/commit/steps.h"
#include "ckks/scheme/public/ciphertext.h"

namespace psm::program {

// The digest of a ciphertext: SHA-256(0 || d_0 || d_1 || ...), where d_i is SHA-256 of a limb's residues as 64-bit words,
// limb after limb, c_0 before c_1.
Digest digest_of(const ckks::Ciphertext&);

struct Proof {
  Digest leaf{};
  std::vector<Digest> path;
};

// What the opening of some steps has, in the order of Steps::crossing().
struct OpenedValues {
  OpenedValues(const Steps&, const std::vector<size_t>& challenged);
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
  CommittedRun(const Steps&, const std::vector<size_t>& challenged);
  // Every value of the run, in any order (RunOptions::observe).
  void observe(Value, const ckks::Ciphertext&);
  // After the run.
  Digest root() const { return MerkleTree(leaves_).root(); }
  Opening open() &&;
  double seconds() const { return seconds_; }  // taken by hashing

 private:
  const Steps& steps_;
  const OpenedValues opened_;
  std::vector<Digest> leaves_;
  std::map<int, ckks::Ciphertext> kept_;
  double seconds_ = 0;
};

}  // namespace psm::program
