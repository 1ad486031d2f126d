// A program as a file: everything that a server needs besides keys and ciphertexts. FORMATS.md describes it
// byte by byte.
//
//   header      128 bytes: magic, version, where the sections are, the digest
//   constants   from byte 4,096: weights, masks (constants.h)
//   tables      parameters, entry points with their instructions and levels, transforms, series, the table of constants
//
// The digest is SHA-256 over the header's other bytes and the tables. The tables have the SHA-256 of every page
// of constants. So the digest identifies the whole file, although only the tables must be read for it.
//
// Entry points are the computations that the program offers: a whole pass, or the pass over a prompt and one
// further token of a text. An entry point may have an argument (the length of a prompt, the position of a
// token). It then has a list of constants for every value of the argument, from the first on.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/program/file/constants.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/chain/parameters.h"

namespace psm::program {

using ProgramDigest = std::array<uint8_t, 32>;

struct EntryPoint {
  std::string name;
  Plan plan;              // of the argument's first value
  ckks::KeyRequest keys;  // that running it takes, for every value of the argument, bootstraps' included
  // The argument's name, its first value, and the plan's constants for each value; empty without an argument.
  std::string argument;
  int32_t first = 0;
  std::vector<Constants> by_argument;

  // Throws Error for a value that the entry does not have.
  const Constants& constants(int value) const;
};

struct ProgramFile {
  ckks::ParameterSpec spec;
  std::vector<EntryPoint> entries;
  Json about;  // for people only: the model, predictions
  std::shared_ptr<const ConstantTable> constants;
  ProgramDigest digest{};

  const EntryPoint& entry(const std::string& name) const;  // throws Error if there is none
  // The digest's first bytes. Ciphertexts and saved states carry them.
  uint64_t id() const;
};

// Writes a program to a file, constants first.
class ProgramWriter {
 public:
  explicit ProgramWriter(const std::string& path);
  // Programs must be built with this keeper, so that their constants are in the file.
  ConstantWriter& keeper() { return *constants_; }
  // Writes the tables and puts the file in its place. Also writes vectors of `program` that are still in
  // memory (constants by argument). Returns the digest. Afterwards the vectors of `program` cannot be read; those
  // of read_program() can.
  ProgramDigest finish(ProgramFile& program);

 private:
  AtomicFile file_;
  std::shared_ptr<ConstantWriter> constants_;
};

// Throws Error if the file is not a program, is damaged, or is of another version. Checks that indices lie
// within their tables. verify() decides whether the program makes sense (ckks/program/verify).
ProgramFile read_program(const std::string& path);

// Makes a file's header and digest fit its tables. For tests, which forge files.
void seal_program(std::string& file);

}  // namespace psm::program
