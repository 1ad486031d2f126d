// A planned program: bootstraps in their places, and a level for every value. The planner makes it
// (ckks/program/planner), a program file stores it (ckks/program/file), machines run it.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ckks/base/function_ref.h"
#include "ckks/poly/series_plan.h"
#include "ckks/program/program.h"
#include "ckks/scheme/chain/chain.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/key_request.h"

namespace psm::program {

inline size_t id(Value value) { return static_cast<size_t>(value.id); }

// What one run hands to the next (a cache), by name: the least level of such an output and the highest of such an input.
using CarriedLevels = std::map<std::string, ckks::Level>;

// A program with a level for every value and every instruction's arguments.
struct Plan {
  Program program;  // no kRefresh; kBootstrap with one or two arguments
  CarriedLevels carried;
  std::vector<ckks::Level> level;            // by value id; -1 for values that no longer exist
  std::vector<ckks::Level> argument_level;   // by instruction: all arguments are brought to it
  std::vector<std::vector<Value>> last_use;  // by instruction: the values that end with it
  std::vector<ckks::Level> input_levels;     // by program input: the level at which the client encrypts
  bool inputs_come_late = false;             // each takes memory when its kInput runs, not from the start
  ckks::KeyRequest keys;                     // of the program itself; a bootstrap's own come on top
  int bootstraps = 0;
  double seconds = 0;  // predicted
};

// By instruction: the values whose last use it is. Outputs have none.
std::vector<std::vector<Value>> last_uses(const Program&);

// Fills in last_use, input_levels and bootstraps, which follow from the program and the levels of values and arguments.
void complete(Plan&);

// Adds the keys of an instruction whose arguments are at `level`. A bootstrap's own keys come on top.
void request_keys(const Instruction&, const ckks::Chain&, ckks::Level level, ckks::KeyRequest&);

// Which bootstraps the plan has.
std::set<ckks::BootstrapKind> bootstrap_kinds(const Plan&);

// The default for the bytes of encoded plaintexts that a machine keeps for further runs.
constexpr size_t kKeptPlaintextBytes = size_t{1} << 31;

// The values of a checkpoint: those needed to go on after `instruction`. Instructions count from 0.
std::vector<Value> live_after(const Plan&, size_t instruction);

// Throws Error if an input that is not `given` comes from instruction `next` on: a checkpoint before it does not hold it.
void require_resumable(const Plan&, size_t next, FunctionRef<bool(Value)> given);

// The machine makes up to so many sums of products that follow one another at once: they often share factors.
constexpr size_t kSumsTogether = 16;
// How many from instruction `first` on, a sum, are made with it: those of its level whose arguments are there by then.
size_t sums_together(const Plan&, size_t first);

// "layer 0 / attention" of "layer 0 / attention / scores" for two parts.
std::string block_of(const std::string& label, int parts);

// The last instruction of each run of instructions whose labels begin with the same part ("layer 3 / ..."):
// places for checkpoints.
std::vector<size_t> block_boundaries(const Plan&);

// How a series is evaluated from a level on.
ckks::SeriesPlan plan_on_primes(const ckks::Series&, ckks::Level level, const ckks::Context&);

// Bytes of the encoded plaintexts of a map at this level.
double encoded_bytes(const ckks::LinearTransform&, const ckks::Chain&, ckks::Level);

// Which encoded transforms a machine keeps if there is no room for all: those that the most instructions of a
// plan read, among equals the first. Masks that every layer shares come before weights that one layer reads.
// Returns for each instruction the first one with the same encoding, or -1 if it is not kept. Single vectors (biases) are
// small and kept first.
std::vector<int> kept_transforms(const Plan&, const ckks::Chain&, size_t bytes);

}  // namespace psm::program
