// The steps of a plan: what a server commits to, and what an auditor computes again.
//
// A step is a run of instructions with one label, inputs left out. A value is committed to if it crosses from step to
// step: it is an input that a step reads, it is read in a later step than it is made in, or it is an output. All other
// values follow from these within one step. Those that cross have about a tenth of all bytes, so hashing them takes little
// of a pass.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "ckks/program/plan.h"

namespace psm::program {

struct Step {
  std::vector<size_t> instructions;  // of the plan, in order
  std::vector<Value> arguments;      // that cross into it
  std::vector<Value> results;        // that cross out of it
};

class Steps {
 public:
  // The plan outlives the steps.
  explicit Steps(const Plan& plan) : plan_(plan), maker_(plan.level.size(), kInputs) {
    const std::vector<Instruction>& all = plan.program.instructions;
    std::vector<char> crosses(plan.level.size());
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].opcode == Opcode::kInput) continue;
      if (steps_.empty() || label(steps_.size() - 1) != all[i].label) steps_.emplace_back();
      Step& step = steps_.back();
      step.instructions.push_back(i);
      for (const Value result : all[i].results) maker_[id(result)] = steps_.size() - 1;
      for (const Value argument : all[i].arguments) {
        if (maker_[id(argument)] == steps_.size() - 1) continue;
        crosses[id(argument)] = 1;
        if (std::find(step.arguments.begin(), step.arguments.end(), argument) == step.arguments.end())
          step.arguments.push_back(argument);
      }
    }
    for (const NamedValue& output : plan.program.outputs) crosses[id(output.value)] = 1;
    for (const Instruction& instruction : all) {
      for (const Value result : instruction.results) {
        if (!crosses[id(result)]) continue;
        crossing_.push_back(result);
        if (!is_input(result)) steps_[maker_[id(result)]].results.push_back(result);
      }
    }
    place_.assign(plan.level.size(), crossing_.size());
    for (size_t i = 0; i < crossing_.size(); ++i) place_[id(crossing_[i])] = i;
  }

  const Plan& plan() const { return plan_; }
  size_t size() const { return steps_.size(); }
  const Step& at(size_t step) const { return steps_.at(step); }
  // The label of its instructions.
  const std::string& label(size_t step) const {
    return plan_.program.instructions[steps_.at(step).instructions.front()].label;
  }

  // The values that cross, in the order in which the plan makes them.
  const std::vector<Value>& crossing() const { return crossing_; }
  // The place of a value among them; their number for any other.
  size_t place(Value value) const { return place_[id(value)]; }
  bool is_input(Value value) const { return maker_[id(value)] == kInputs; }

 private:
  static constexpr size_t kInputs = ~size_t{0};

  const Plan& plan_;
  std::vector<Step> steps_;
  std::vector<size_t> maker_;  // by value: its step, or kInputs
  std::vector<Value> crossing_;
  std::vector<size_t> place_;  // by value
};

}  // namespace psm::program
