// The twin: a slot program run in the clear, on vectors of complex doubles.
//
// It computes the same as the encrypted machine, without the error of encryption. It reports where the
// program leaves the ranges that encryption relies on:
//   * every RangeCheck of the program;
//   * the argument of a Series: lo = -1 <= re <= hi = 1, im = 0;
//   * a value that is refreshed or bootstrapped: |re| <= 1 and |im| <= 1;
//   * a value that is marked real: im = 0;
//   * any value: finite.
// An input that does not repeat with the period that the program gives it is an error. A range may be
// exceeded by `slack` (for im = 0: times the largest absolute value of the vector, at least 1).
//
// Noise. With noise_std the twin adds to re and im of every slot of value v an independent normal error of
// standard deviation noise_std[v]: v's own error, without that of its arguments (noise.h predicts it). The
// error depends on (noise_seed, v, slot) alone.
//
// With bootstrap_error = f, a bootstrap turns every component x of its results into x + f(x): the part of its
// error that follows the value.
//
// A sparse bootstrap returns the mean over the repetitions, as it does on ciphertexts. Its error repeats with
// them, so later sums over repetitions do not average it away.
//
// Results are bit-identical for every number of threads. Values are freed at their last use.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "ckks/program/program.h"

namespace psm::program {

using SlotVector = std::vector<ckks::Complex>;

struct TwinOptions {
  // kThrow: the first violation throws psm::Error, which names the operation, its label and the value found. kCount:
  // violations are listed in the result and the run goes on. A vector that is not finite still throws.
  enum class OnRange { kThrow, kCount };
  OnRange on_range = OnRange::kThrow;
  double slack = 1e-6;
  std::vector<double> noise_std{};  // by value id; empty: no noise
  uint64_t noise_seed = 1;
  std::function<double(double)> bootstrap_error{};
  std::function<void(const Instruction&, Value, std::span<const ckks::Complex>)> observe{};  // every result
};

struct RangeViolation {
  std::string operation{};  // "series [layer 0 / attention]"
  std::string what;         // the range that was left
  double worst = 0;         // the component farthest outside
  size_t slot = 0;          // and its slot
  size_t slots = 0;         // how many slots are outside
};

struct TwinResult {
  std::map<std::string, SlotVector> outputs;
  std::vector<Observation> observations;  // by value id
  std::vector<RangeViolation> violations;
};

// Every input of the program needs a vector of n slots. Weights without data (shape_only) throw psm::Error.
TwinResult run_twin(const Program&, const std::map<std::string, SlotVector>& inputs, const TwinOptions& = {});

// The result of two twins: one exact, whose result this is, and one with options.bootstrap_error alone.
// `apart` is their distance by value id, a root mean square over re and im of all slots.
struct TwinsResult : TwinResult {
  std::vector<double> apart;
};
TwinsResult run_twins(const Program&, const std::map<std::string, SlotVector>& inputs, const TwinOptions&);

}  // namespace psm::program
