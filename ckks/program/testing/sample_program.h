// A small program for tests of program files: every opcode, a bootstrap, and a mask that depends on an argument.
#pragma once

#include <string>

#include "ckks/program/file/program_file.h"
#include "ckks/scheme/chain/context.h"

namespace psm::program {

struct SampleProgram {
  explicit SampleProgram(PlainKeeper* keeper = nullptr);

  static constexpr size_t kSlots = 512;  // of an insecure ring of degree 2^10
  ckks::Context context;
  EntryPoint entry;  // "pass", its argument "length" from 1 to 3

  ProgramFile file() const;  // to be written by the keeper's writer
};

// Writes the sample to a file and returns what was written. Its bytes are the same on every machine.
ProgramFile write_sample_program(const std::string& path);

}  // namespace psm::program
