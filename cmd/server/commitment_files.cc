#include "cmd/server/commitment_files.h"

#include <bit>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

CommitmentNote read_commitment(const std::string& path, const program::Steps& steps, uint64_t program_id) {
  constexpr uint64_t kMaxCommitment = 1 << 24;  // bytes of its file
  auto note = parse_note<CommitmentNote>(read_file(path, kMaxCommitment), path);
  if (note.program_id != program_id) throw Error(message(path, " belongs to another program"));
  if (note.roots.empty() || note.roots.size() > kMaxCiphertexts)
    throw Error(message(path, " commits to ", note.roots.size(), " passes"));
  int64_t next = 0;
  for (const int step : note.challenged) {
    if (step < next || static_cast<size_t>(step) >= note.roots.size() * steps.size())
      throw Error(message(path, " asks for step ", step, " of ", note.roots.size() * steps.size(),
                          ", or for a step twice or out of order"));
    next = int64_t{step} + 1;
  }
  return note;
}

CommitmentNote read_challenge(const std::string& path, const program::Steps& steps, uint64_t program_id) {
  CommitmentNote note = read_commitment(path, steps, program_id);
  if (note.challenged.empty())
    throw Error(message(path, " is a commitment and draws no step; make a challenge of it with //cmd:audit"));
  return note;
}

std::vector<size_t> challenged_in(const CommitmentNote& challenge, size_t group,
                                  const program::Steps& steps) {
  std::vector<size_t> of_group;
  for (const int step : challenge.challenged)
    if (static_cast<size_t>(step) / steps.size() == group)
      of_group.push_back(static_cast<size_t>(step) % steps.size());
  return of_group;
}

CommittedPasses::CommittedPasses(const program::Plan& plan, const ckks::Chain& chain,
                                 const CommitmentNote& request, size_t groups, const std::string& challenge)
    : steps_(plan), challenge_(request) {
  if (challenge.empty()) return;
  challenge_ = read_challenge(challenge, steps_, request.program_id);
  if (challenge_.request != request.request || challenge_.roots.size() != groups)
    throw Error(message(challenge, " belongs to other prompts"));
  // A proof is a value's digest, those of its path, and their number.
  const size_t proof = sizeof(program::Digest) * (1 + std::bit_width(steps_.crossing().size() - 1)) + 4;
  size_t bytes = 64;
  for (size_t group = 0; group < groups; ++group) {
    const program::OpenedValues opened(steps_, challenged_in(challenge_, group, steps_));
    bytes += proof * opened.proved.size();
    for (const program::Value value : opened.ciphertexts)
      opened_bytes_ += chain.ciphertext_bytes(plan.level[program::id(value)]);
  }
  if (bytes > wire::kMaxNoteBytes)
    throw Error("the proofs of this challenge are too long for one opening; draw fewer steps");
}

void CommittedPasses::watch(program::RunOptions& options) {
  runs_.emplace_back(steps_, challenged_in(challenge_, runs_.size(), steps_));
  options.observe = [&run = runs_.back(), before = std::move(options.observe)](
                        size_t instruction, program::Value value, const ckks::Ciphertext& result) {
    if (before) before(instruction, value, result);
    run.observe(value, result);
  };
}

void CommittedPasses::write(const std::string& commitment, const std::string& opening,
                            const ckks::Context& context, ckks::Fingerprint keys) {
  CommitmentNote made{challenge_.program_id, challenge_.request, {}, {}};
  for (const program::CommittedRun& run : runs_) made.roots.push_back(run.root());
  if (!challenge_.roots.empty() && made.roots != challenge_.roots)
    throw Error(
        "this run has other roots than the commitment of the challenge; run the same program on the "
        "same prompts with the same keys",
        Error::Kind::kFailed);
  if (!commitment.empty()) write_file(commitment, note_text(made));
  if (opening.empty()) return;
  OpeningNote note{made.program_id, made.request, {}};
  std::vector<program::Opening> openings;
  for (program::CommittedRun& run : runs_) {
    openings.push_back(std::move(run).open());
    for (program::Proof& proof : openings.back().proofs) note.proofs.push_back(std::move(proof));
  }
  wire::CiphertextWriter writer(opening, context, keys, note_text(std::move(note)));
  for (size_t group = 0; group < openings.size(); ++group) {
    const program::OpenedValues opened(steps_, challenged_in(challenge_, group, steps_));
    for (const program::Value value : opened.ciphertexts)
      writer.write(openings[group].ciphertexts.at(value.id));
  }
  writer.commit();
}

double CommittedPasses::seconds() const {
  double sum = 0;
  for (const program::CommittedRun& run : runs_) sum += run.seconds();
  return sum;
}

}  // namespace psm::cmd
