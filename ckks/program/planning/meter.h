// The meter: the cost of a plan, before any key exists. Key switches by kind, keys and their bytes, peak memory,
// seconds by instruction. Works for programs whose weights are only shapes.
//
// Memory is that of the encrypted machine: live ciphertexts (freed at their last use, with the lowered copies
// that the machine keeps), scratch of the current instruction, all keys, encoded plaintexts, and encoded
// transforms of the bootstrap.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"

namespace psm::program {

struct MeterReading {
  Counts counts;            // of the program; key-switches inside bootstraps are not among them
  Counts bootstrap_counts;  // of all its bootstraps together
  Work work;                // of everything
  double seconds = 0;       // of everything
  std::vector<double> instruction_seconds, drop_seconds;  // by instruction; the second is in the first

  ckks::KeyRequest keys;  // of program and bootstrap together
  double key_bytes = 0;

  double peak_ciphertext_bytes = 0;  // live ciphertexts and scratch
  std::string peak_operation;
  double plaintext_bytes = 0;     // encoded once for every vector and level
  double peak_working_bytes = 0;  // live ciphertexts, scratch, and the plaintexts of the instruction at hand
  double bootstrap_bytes = 0;     // encoded transforms of the bootstrap
  double table_bytes = 0;         // of the program's maps, as its file's tables have them
  // The encoded plaintexts that the machine keeps for further passes at this limit (MachineOptions).
  size_t encoded_limit = kKeptPlaintextBytes;
  double kept_plaintext_bytes() const {
    return std::min(plaintext_bytes, static_cast<double>(encoded_limit));
  }
  // The least memory of a run, keys included.
  double least_bytes() const { return key_bytes + bootstrap_bytes + peak_working_bytes; }
  // The peak memory of a run without the keys. The process itself comes on top, with the tables of its program.
  double run_bytes() const {
    // What does not fit is in use in addition to what is kept, while its instruction runs.
    return bootstrap_bytes +
           std::min(peak_ciphertext_bytes + plaintext_bytes, peak_working_bytes + kept_plaintext_bytes());
  }
  double peak_bytes() const { return run_bytes() + key_bytes + table_bytes; }
};

// About what the vectors of a program take in its file (ckks/program/file/constants.h), and its maps.
double file_bytes(const Program&);

// `shared_inputs` names the inputs that all runs share (MachineOptions::shared_inputs). They do not count as
// a run's memory.
MeterReading meter(const Plan&, const CostModel&, const std::set<std::string>& shared_inputs = {});

}  // namespace psm::program
