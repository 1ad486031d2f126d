// The files of a commitment (ckks/program/commit/commitment.h): the commitment, which goes with the answers; the
// challenge, which is the commitment with the steps that were drawn; and the opening, a file of ciphertexts with the
// proofs in its note.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "ckks/program/commit/commitment.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/protocol/notes.h"

namespace psm::cmd {

struct CommitmentNote {
  static constexpr NoteKind kKind = NoteKind::kCommitment;
  static constexpr const char* kWhat = "commitment or challenge";

  uint64_t program_id = 0, request = 0;  // as in the answers
  std::vector<program::Digest> roots;    // by group
  std::vector<int> challenged;  // ascending: step s of group g is g n + s of n steps; none in a commitment
};

struct OpeningNote {
  static constexpr NoteKind kKind = NoteKind::kOpening;
  static constexpr const char* kWhat = "opening of a commitment";

  uint64_t program_id = 0, request = 0;
  std::vector<program::Proof> proofs;  // group after group
};

template <typename Tables>
void digest(Tables& t, program::Digest& digest) {
  for (uint8_t& byte : digest) t.number(byte);
}
template <typename Tables>
void describe(Tables& t, CommitmentNote& note) {
  t.number(note.program_id), t.number(note.request);
  wire::list(t, note.roots, sizeof(program::Digest), [&](program::Digest& root) { digest(t, root); });
  wire::list(t, note.challenged, 4, [&](int& step) { t.number(step); });
}
template <typename Tables>
void describe(Tables& t, OpeningNote& note) {
  t.number(note.program_id), t.number(note.request);
  wire::list(t, note.proofs, sizeof(program::Digest) + 4, [&](program::Proof& proof) {
    digest(t, proof.leaf);
    wire::list(t, proof.path, sizeof(program::Digest), [&](program::Digest& node) { digest(t, node); });
  });
}

// Throws Error unless the file is a commitment or challenge for this program.
CommitmentNote read_commitment(const std::string& path, const program::Steps& steps, uint64_t program_id);
// The same of a challenge, which asks for steps.
CommitmentNote read_challenge(const std::string& path, const program::Steps& steps, uint64_t program_id);
// The steps of one group that a challenge asks for.
std::vector<size_t> challenged_in(const CommitmentNote& challenge, size_t group, const program::Steps& steps);

// The server's side of the passes of one request.
class CommittedPasses {
 public:
  // `challenge`: empty, or the file of a challenge to an earlier run of this request. Throws Error if it is to another.
  CommittedPasses(const program::Plan& plan, const ckks::Chain& chain, const CommitmentNote& request,
                  size_t groups, const std::string& challenge);

  // Makes the run of the next group commit itself.
  void watch(program::RunOptions& options);
  // After the last group: the file of the commitment, and that of the opening; an empty path leaves one out. Throws Error
  // if this run's roots are not those of the challenge.
  void write(const std::string& commitment, const std::string& opening, const ckks::Context& context,
             ckks::Fingerprint keys);
  double seconds() const;                                // taken by hashing
  size_t opened_bytes() const { return opened_bytes_; }  // of the ciphertexts that an opening keeps

 private:
  const program::Steps steps_;
  CommitmentNote challenge_;
  size_t opened_bytes_ = 0;
  std::deque<program::CommittedRun> runs_;
};

}  // namespace psm::cmd
