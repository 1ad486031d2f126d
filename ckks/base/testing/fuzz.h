// Fuzzing of decoders: valid inputs are mutated and decoded. For any input a decoder must return or throw psm::Error
// with a message of one line. It may take no more memory than the target states for an input of that size.
//
// Mutations flip bits, set bytes and little-endian numbers to extremes, replace decimal numbers, remove, repeat and
// move chunks, insert chunks of other inputs, and cut off ends. Half of them happen at the places that matter
// (`marks`). Half of the inputs are then repaired (checksums, counts, lengths), so that they pass a checksum.
//
// The mutations of input k depend on k alone; input 0 is valid. An input that fails or crashes is kept in a file;
// PSM_FUZZ_FILE=file decodes that one alone, with every target.
//
// The inputs of testdata/fuzz/TARGET are decoded first. libFuzzer found them in long runs (.ci/fuzz), with the same
// mutations and repairs: it keeps what covers new code, and mutates it again.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm {

struct FuzzTarget {
  std::string name;
  // Decoding takes at most fixed_bytes, plus bytes_per_byte for each byte of the input.
  size_t fixed_bytes = 0, bytes_per_byte = 0;
  std::vector<std::string> corpus = {};  // valid inputs: they must decode, unless they are nearly so
  bool nearly = false;
  // Decodes, or throws psm::Error to refuse. The bytes end where their memory ends.
  std::function<void(std::string_view)> decode = {};
  // Makes a mutated input consistent again, in part or in whole; may be empty.
  std::function<void(std::string&, TrainingRandom&)> repair = {};
  // Where the fields and parts of a valid input begin; may be empty.
  std::function<std::vector<size_t>(const std::string&)> marks = {};
};

struct FuzzReport {
  uint64_t inputs = 0, accepted = 0, refused = 0;
  size_t peak_bytes = 0;
  double slowest_seconds = 0;  // of the processor
  std::string failure;         // the first one; empty if there is none
};

// Runs `inputs` mutated inputs, and prints one line of the report. Links allocation_meter.h. With --config=fuzz the
// environment's PSM_FUZZ_TARGET may name a target: libFuzzer runs it, with the arguments of the command line, and the
// process ends; others do nothing.
FuzzReport fuzz(const FuzzTarget& target, uint64_t inputs);

// Puts bytes into a file of the test's own, for decoders that take a path, and returns the path.
std::string in_file(std::string_view bytes, const std::string& name = "decoded");

// Runs a target in a test case: nothing may fail, its corpus must be accepted, and some inputs refused.
inline void check_fuzz(const FuzzTarget& target, uint64_t inputs = 4000) {
  if (!target.nearly)
    for (const std::string& input : target.corpus) CHECK_NOTHROW(target.decode(input));
  const FuzzReport report = fuzz(target, inputs);
  CHECK(report.failure == "");
  if (report.inputs <= 1) return;  // PSM_FUZZ_FILE's alone, or none, as PSM_FUZZ_TARGET names another target
  CHECK(report.accepted > 0);
  CHECK(report.refused > 0);
}

}  // namespace psm
