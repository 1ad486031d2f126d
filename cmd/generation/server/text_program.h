// A compiled program that continues texts, for its server (text_ends.h).
#pragma once

#include <memory>
#include <vector>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/verify/verify.h"
#include "cmd/generation/text_ends.h"
#include "cmd/protocol/group_files.h"

namespace psm::cmd {

class TextProgram : public TextEnds {
 public:
  // Throws Error if the program does not continue texts, or if a prompt makes caches that a token cannot take.
  explicit TextProgram(program::VerifiedProgram program);

  const program::EntryPoint& prompt() const { return file_.entry(kPrompt); }  // where it takes prompts
  const program::EntryPoint& token() const { return file_.entry(kToken); }
  // The id of the file itself, also if weights have a number of their own.
  uint64_t program_id() const { return file_.id(); }

  ckks::BootstrapPlans bootstraps;                      // that the entries have
  ckks::KeyRequest keys;                                // of all entries
  program::MeterReading prompt_reading, token_reading;  // by nominal costs
  // The server's least memory: keys of one run, caches, encrypted weights, and a run.
  double least_bytes() const;

  size_t cache_bytes() const;                                             // packed
  size_t weight_bytes() const { return group_bytes(*context, weights); }  // in memory
  // The server's predicted peak memory, without the program: with the keys of one run at a time
  // (held_keys.h), or with all keys, as on a device.
  size_t server_bytes(bool all_keys = false) const;

 private:
  program::ProgramFile file_;
};

}  // namespace psm::cmd
