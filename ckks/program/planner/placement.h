// The search for the bootstraps of a program (planner.h): a compact form of the program, on which one pass
// evaluates a choice, and the local search over choices.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/cost_model.h"

namespace psm::program {

class Placement {
 public:
  // One value of one kRefresh group.
  struct Candidate {
    size_t instruction;
    size_t position;  // in the group
    bool real;
    // The kinds that may bootstrap it: the full one, then the cheapest sparse one and the cheapest of blocks
    // that preserve its repetition.
    std::vector<size_t> kinds;
  };
  // By candidate: kNone, not bootstrapped, or 1 + the place of a kind among its own.
  using Choice = std::vector<char>;
  static constexpr char kNone = 0;

  struct Outcome {
    int missing = 0;  // levels that the worst value lacks, summed over all that lack some; 0: feasible
    double seconds = 0;
    bool better_than(const Outcome& other) const {
      if (missing != other.missing) return missing < other.missing;
      return seconds < other.seconds - 1e-9 * (1 + other.seconds);
    }
  };

  // The program outlives the object and has no dead code.
  Placement(const Program&, const LevelBudget&, const CostModel&);

  const std::vector<Candidate>& candidates() const { return candidates_; }
  const BootstrapFigures& kind(const Choice& choice, size_t candidate) const {
    return kinds_[kind_index(candidate, choice[candidate])];
  }
  // Levels needed by each value (by id), and the outcome.
  Outcome evaluate(const Choice&, std::vector<ckks::Level>* needs = nullptr);
  Choice search();

  // The bootstraps of a choice: each has one or two candidates. Two real candidates of one kind share a
  // bootstrap if they are in one group, or in groups of the same rank. The rank is the longest chain of
  // groups that lead to a group. A dependence raises it, so pairs never wait for one another in a circle.
  std::vector<std::vector<size_t>> bootstraps(const Choice&) const;

 private:
  // An instruction as the level pass reads it.
  struct Step {
    enum class Kind : uint8_t { kInput, kRefresh, kOther };
    Kind kind;
    int depth;
    uint32_t arguments, results, end;  // ranges of operands_
    uint32_t seconds, levels;          // range of seconds_
    uint32_t first_candidate;
  };

  template <typename Decide>
  Outcome pass(const Decide&);
  uint64_t choices() const;  // how many there are, or more than are tried
  Choice exhaustive();
  Choice everything() const;
  Choice start_above(int threshold);
  Choice start_as_late_as_possible();
  void improve(Choice&, Outcome&);
  bool try_flips(Choice&, Outcome&, std::initializer_list<size_t> flipped);
  bool try_kinds(Choice&, Outcome&, std::span<const size_t> exchanged);
  bool try_group(Choice&, Outcome&, size_t dropped, size_t added);
  bool keep_if_better(const Choice& changed, Choice&, Outcome&);
  double bootstrap_seconds(const Choice&);
  size_t kind_index(size_t candidate, char choice) const { return candidates_[candidate].kinds[choice - 1]; }
  std::vector<size_t> kinds_of(int value) const;
  char on(size_t candidate) const;  // the cheaper way to bootstrap it, by itself
  void find_ranks();
  void find_units();

  const Program& program_;
  LevelBudget budget_;
  std::vector<BootstrapFigures> kinds_;  // the full one first; their levels are within the budget
  std::vector<double> drop_seconds_;     // by target level
  std::vector<Candidate> candidates_;
  std::vector<std::vector<size_t>> groups_;  // candidates of each kRefresh
  std::vector<std::vector<size_t>> units_;   // what moves together: a group, or alike groups of a wide model
  std::vector<int> rank_;                    // by candidate: longest chain of groups that lead to its group
  std::vector<Step> steps_;                  // by instruction
  std::vector<int> operands_;                // of all steps: values, arguments first, then results
  std::vector<double> seconds_;              // of all steps, by level of their results
  std::vector<ckks::Level> highest_of_input_;  // by value
  std::vector<ckks::Level> need_;              // scratch: by value
  std::vector<uint64_t> used_levels_;          // scratch: by value, bit l = used at level l
  size_t ranks_ = 0;
  std::vector<int> reals_;  // scratch: by rank and kind
};

}  // namespace psm::program
