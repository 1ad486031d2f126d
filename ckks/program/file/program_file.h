// A program as a file: everything that a server needs besides keys and ciphertexts, and nothing that it must guess.
// FORMATS.md describes it byte by byte.
//
//   header      128 bytes: magic, version, where the sections are, the digest
//   constants   from byte 4,096: weights, masks (constants.h)
//   tables      parameters, entry points with their instructions and levels, transforms, series, the table of constants
//
// The digest is SHA-256 over the header's other bytes and the tables. The tables hold that of every constant, so
// the digest names the whole file, although reading it takes a few MB only.
//
// Entry points are what the program can be asked for: a whole pass, or the pass over a prompt and one further token of
// a text. One that has an argument (the length of a prompt, the position of a token) has a list of constants for every
// value of it, from the first on.
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
  // Name and first value of its argument, and what the plan exchanges for each value; empty without one.
  std::string argument;
  int32_t first = 0;
  std::vector<Constants> by_argument;

  // Throws Error for a value that the entry does not have.
  const Constants& constants(int value) const;
};

struct ProgramFile {
  ckks::ParameterSpec spec;
  std::vector<EntryPoint> entries;
  Json about;  // for people and for clients: the model, predictions
  std::shared_ptr<const ConstantTable> constants;
  ProgramDigest digest{};

  const EntryPoint& entry(const std::string& name) const;  // throws Error if there is none
  // The digest's first bytes: what ciphertexts and saved states carry.
  uint64_t id() const;
};

// Writes a program to a file, constants first.
class ProgramWriter {
 public:
  explicit ProgramWriter(const std::string& path);
  // To build programs with, so that their constants are in the file.
  ConstantWriter& keeper() { return *constants_; }
  // Writes the tables and puts the file in its place. Vectors of `program` that are in memory (constants by argument)
  // are kept now. Returns the digest.
  ProgramDigest finish(ProgramFile& program);

 private:
  AtomicFile file_;
  std::shared_ptr<ConstantWriter> constants_;
};

// Throws Error where the file is not a program, damaged, or of another version. The tables' indices are within their
// tables; whether the program makes sense is for verify() to say (ckks/program/verify).
ProgramFile read_program(const std::string& path);

// Makes a file's header and digest fit its tables, whatever they are: for tests, which forge files.
void seal_program(std::string& file);

}  // namespace psm::program
