// What a program's file holds, for people and for machines: //cmd:show.
//
// Names in the file are anybody's. visible() is applied to all of them once, so that none can move the cursor of a
// terminal, hide what follows it, or fill the screen.
//
// Two members of the file's `about` are shown if they have as many numbers as they need. Both are objects with an
// array for each entry point, by name:
//   predicted_errors   by value: standard deviation of re and of im of a slot
//   observed_ranges    by range check: the smallest and the largest value, as two numbers
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/verify/verify.h"
#include "cmd/terminal/html.h"

namespace psm::cmd {

// The text with control characters, invisible characters and bytes that are not UTF-8 written as \x1b; cut where it
// is very long.
std::string visible(const std::string& text);

struct ShownEntry {
  const program::EntryPoint* point = nullptr;
  program::MeterReading reading;
  std::vector<double> predicted_errors, observed_ranges;  // empty where the file has none
};

struct ShownProgram {
  // Throws Error if `entry` is not empty and the file has no entry point of this name.
  ShownProgram(program::VerifiedProgram program, const std::string& path, const std::string& entry,
               const program::KernelSeconds& kernels, std::string machine);

  program::VerifiedProgram program;
  std::string name;  // of the file
  uint64_t file_bytes = 0, constant_bytes = 0;
  program::KernelSeconds kernels;
  std::string machine;  // that takes these seconds: "a nominal machine"
  std::vector<ShownEntry> entries;
};

// One instruction in words.
struct InstructionText {
  std::string label, operation, values;  // "%3, %5 -> %9"
  std::string detail;                    // "by 1, -2"; empty where the operation says it all
  std::string levels, slots;             // "7 -> 6", "real 64"
  std::string scale, seconds, error;     // of the first result; "" where unknown
};
InstructionText text_of(const ShownProgram&, const ShownEntry&, size_t instruction);

// What stands above the instructions: a name and a line each.
Facts facts_of(const ShownProgram&);
Facts facts_of(const ShownEntry&);
Facts figures_of(const ShownProgram&, const ShownEntry&);  // counts, and what is predicted

Table keys_table(const ShownEntry&);

std::string cost_text(double seconds);  // "35 us", "1.2 ms", then as seconds_text

std::string program_text(const ShownProgram&);  // a line for each instruction
Json program_json(const ShownProgram&);
std::string program_page(const ShownProgram&);  // program_page.cc

}  // namespace psm::cmd
