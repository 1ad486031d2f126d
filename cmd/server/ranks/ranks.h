// The processes that mpirun started: the ranks. They compute each pass together, or share the files of a folder. Rank 0 has
// prompts, states and answers. Without --config=mpi there is one process, and infer links nothing else of this.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ckks/wire/key_file.h"
#include "cmd/server/memory_flag.h"
#include "cmd/server/server.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// Rank 0: a run's options have a state's instructions of the whole plan, and no observer.
class SharedPasses : public Passes {
 public:
  // The other ranks: computes passes until rank 0 calls finish(), and reports to it.
  virtual void serve() = 0;
  // Rank 0: no further pass. Returns a row for each rank, seconds of a pass. And what concerns all of them.
  virtual Figures finish() = 0;
  virtual Figures summary() const = 0;
};

class Ranks {
 public:
  virtual ~Ranks() = default;
  // Whether this is rank 0.
  virtual bool leads() const = 0;
  // How many ranks share this machine and its memory, this one included.
  virtual int here() const = 0;
  // Tells rank 0 what this rank would compute with. Rank 0 throws Error if it is not the same everywhere.
  // `link`: what is between the ranks, as users write it; throws Error.
  virtual void require_same(const program::ProgramDigest& digest, ckks::Fingerprint keys, bool is_folder,
                            const std::string& link) = 0;
  // `beside`: bytes that this rank takes besides its passes. `gathers`: whether states are saved, which rank 0 must have
  // then.
  virtual std::unique_ptr<SharedPasses> share(const PlannedPass& whole, wire::EvaluationKeysReader& keys,
                                              const MemoryFlag& memory, size_t beside, bool gathers) = 0;
  // Gives files to ranks, one at a time, so that no rank is idle while any is left. Rank 0 has their names, and tells
  // the others the groups of prompts of the largest file. Returns how many files there are.
  virtual size_t deal(std::vector<std::string> names, size_t& most_groups) = 0;
  // Throws Error unless each rank of this machine can take so much memory. Waits until all ranks have looked.
  virtual void require_memory_of_each(size_t bytes) = 0;
  // The next file of this rank; empty if none is left.
  virtual std::string next() = 0;
  // Returns on rank 0 the texts of all ranks that are not empty, with commas.
  virtual std::string gather(const std::string& text) = 0;
  // Ends all ranks. The message is printed once, with this rank's number; all exit with this code or are killed.
  [[noreturn]] virtual void fail(const std::string& message, int exit_code) = 0;
};

// Null if this process is alone. Throws Error if mpirun started several, and this build has no MPI. Destroyed, it waits
// for the other ranks to end.
std::unique_ptr<Ranks> open_ranks();

}  // namespace psm::cmd
