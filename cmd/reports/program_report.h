// A report of a program and its cost, for people and machines: //cmd:show for a file, //cmd:compile --dry-run
// for a program that is not written.
//
// What reads a file refuses names that are no short lines of plain text (wire::name). The file's own name and what
// `about` says are made visible and cut, so that they cannot move the cursor of a terminal, hide what follows, or fill
// the screen.
//
// Two members of the file's `about` are shown if they have the right number of entries. Both are objects with
// an array for each entry point, by name:
//   predicted_errors   by value: standard deviation of re and of im of a slot
//   observed_ranges    by range check: the smallest and the largest value, as two numbers
#pragma once

#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/program/errors/ledger.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/verify/verify.h"

namespace psm::cmd {

struct ShownEntry {
  const program::EntryPoint* point;
  program::MeterReading reading;
  program::Ledger ledger;               // predicted seconds, and errors where the file has them
  std::vector<double> observed_ranges;  // empty where the file has none
  double full_bootstrap = 0;  // seconds of one of all complex slots; 0 in an entry point without any
};

struct ShownProgram {
  // `machine` is a calibration, or null for nominal seconds. Throws Error if `entry` is not empty and there
  // is no entry point of this name.
  ShownProgram(program::VerifiedProgram program, const std::string& name,
               const program::Calibration* machine = nullptr, const std::string& entry = "");

  // With every kind of bootstrap that the entry points have, and the full one.
  program::CostModel costs_with(const program::KernelSeconds& seconds) const;

  program::VerifiedProgram program;
  std::string name;
  program::KernelSeconds kernels;
  std::string machine;                 // that takes these seconds: "a nominal machine"
  double encode_seconds_per_byte = 0;  // of plaintexts; 0 if it is not measured
  std::vector<ShownEntry> entries;
};

// `instructions`: whether to print a line for each instruction's result.
std::string program_text(const ShownProgram&, bool instructions = true);
Json program_json(const ShownProgram&, bool instructions = true);
// One file that loads nothing from a network. `more` is HTML for its end.
std::string program_page(const ShownProgram&, const std::string& more = "");

}  // namespace psm::cmd
