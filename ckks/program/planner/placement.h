// The search for the bootstraps of a program (planner.h): a compact form of the program, on which one pass
// evaluates a choice, and the local search over choices.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
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
  using Choice = std::string;
  static constexpr char kNone = 0;

  struct Outcome {
    int missing = 0;  // levels that the worst value lacks, summed over all that lack some; 0: feasible
    double seconds = 0;
    bool better_than(const Outcome& other) const {
      if (missing != other.missing) return missing < other.missing;
      return seconds < other.seconds - 1e-9 * (1 + other.seconds);
    }
  };

  // The program and the model outlive the object. The program has no dead code.
  Placement(const Program& program, const CostModel& model, const CarriedLevels& carried = {})
      : program_(program), kinds_(model.bootstraps()), max_level_(model.chain().compute_level) {
    for (ckks::Level level = 0; level < max_level_; ++level)
      drop_seconds_.push_back(model.drop_seconds(level));
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      const Instruction& instruction = program.instructions[i];
      Step step{.kind = Step::Kind::kOther,
                .depth = depth(instruction),
                .arguments = size32(operands_),
                .results = 0,
                .end = 0,
                .seconds = size32(seconds_),
                .levels = 0,
                .first_candidate = size32(candidates_)};
      for (Value argument : instruction.arguments) operands_.push_back(argument.id);
      step.results = size32(operands_);
      for (Value result : instruction.results) operands_.push_back(result.id);
      step.end = size32(operands_);
      if (instruction.opcode == Opcode::kInput) step.kind = Step::Kind::kInput;
      if (instruction.opcode == Opcode::kRefresh) {
        step.kind = Step::Kind::kRefresh;
        groups_.emplace_back();
        for (size_t k = 0; k < instruction.arguments.size(); ++k) {
          groups_.back().push_back(candidates_.size());
          const Value argument = instruction.arguments[k];
          candidates_.push_back({i, k, program.values[id(argument)].is_real, kinds_of(argument.id)});
        }
      } else if (step.depth <= max_level_) {
        const std::vector<double> seconds =
            model.seconds_by_level(instruction, program, ckks::Level::at(step.depth), max_level_);
        seconds_.insert(seconds_.end(), seconds.begin(), seconds.end());
      } else {
        seconds_.push_back(0);
      }
      step.levels = size32(seconds_) - step.seconds;
      steps_.push_back(step);
    }
    need_.resize(program.values.size());
    used_levels_.resize(program.values.size());
    const auto level_of = [&](const NamedValue& end, ckks::Level otherwise) {
      const auto found = carried.find(end.name);
      return found == carried.end() ? otherwise : found->second;
    };
    highest_of_input_.resize(program.values.size());
    for (const NamedValue& input : program.inputs)
      highest_of_input_[id(input.value)] = level_of(input, max_level_);
    for (const NamedValue& output : program.outputs) lowest_of_output_.push_back(level_of(output, 0));
    find_ranks();
    find_units();
  }

  const std::vector<Candidate>& candidates() const { return candidates_; }
  const BootstrapFigures& kind(const Choice& choice, size_t candidate) const {
    return kinds_[kind_index(candidate, choice[candidate])];
  }
  ckks::Level highest_of_input(Value input) const { return highest_of_input_[id(input)]; }
  // Levels needed by each value (by id), and the outcome.
  Outcome evaluate(const Choice& choice, std::vector<ckks::Level>* needs = nullptr) {
    Outcome outcome = pass([&](size_t candidate, int) { return choice[candidate]; });
    outcome.seconds += bootstrap_seconds(choice);
    if (needs) *needs = need_;
    return outcome;
  }

  Choice search() {
    if (choices() <= kExhaustive) return exhaustive();
    std::vector<Choice> starts{Choice(candidates_.size(), kNone), everything(), start_as_late_as_possible()};
    const int step = is_wide() ? kThresholdStep : 1;
    for (int threshold = max_level_ - 1; threshold >= 0; threshold -= step)
      starts.push_back(start_above(threshold));
    std::vector<std::pair<Outcome, Choice>> ranked;
    for (Choice& start : starts) {
      const Outcome outcome = evaluate(start);
      ranked.emplace_back(outcome, std::move(start));
    }
    const auto better = [](const auto& a, const auto& b) { return a.first.better_than(b.first); };
    const auto best_of = [&](std::vector<std::pair<Outcome, Choice>> of) {
      std::ranges::stable_sort(of, better);
      of.resize(std::min(of.size(), is_wide() ? kGroupSearches : kSearches));
      return of;
    };
    std::vector<std::pair<Outcome, Choice>> found = best_of(ranked);
    // Layers are alike: a change that pays in all of them may not pay in one. In a small program each group may also
    // move to any place.
    for (const auto* units : {&layers_, &units_}) {
      if (units == &units_ && is_wide()) break;
      std::vector<std::pair<Outcome, Choice>> moved = ranked;
      for (auto& [outcome, choice] : moved)
        while (move_units(*units, units->size(), choice, outcome)) {
        }
      for (auto& one : best_of(std::move(moved)))
        if (std::ranges::find(found, one.second, &std::pair<Outcome, Choice>::second) == found.end())
          found.push_back(std::move(one));
    }
    for (auto& [outcome, choice] : found) improve(choice, outcome);
    return std::ranges::min_element(found, better)->second;
  }

  // The bootstraps of a choice: each has one or two candidates. Two real candidates of one kind share a
  // bootstrap if they are in one group, or in groups of the same rank. The rank is the longest chain of
  // groups that lead to a group. A dependence raises it, so pairs never wait for one another in a circle.
  std::vector<std::vector<size_t>> bootstraps(const Choice& choice) const {
    std::vector<std::vector<size_t>> result;
    std::vector<std::vector<size_t>> left_over(ranks_ * kinds_.size());
    std::vector<std::vector<size_t>> reals(kinds_.size());
    for (const std::vector<size_t>& group : groups_) {
      for (std::vector<size_t>& of_kind : reals) of_kind.clear();
      for (size_t c : group) {
        if (choice[c] && candidates_[c].real) reals[kind_index(c, choice[c])].push_back(c);
        if (choice[c] && !candidates_[c].real) result.push_back({c});
      }
      for (size_t k = 0; k < kinds_.size(); ++k) {
        if (kinds_[k].kind.of_blocks()) {
          for (const size_t c : reals[k]) result.push_back({c});
          continue;
        }
        for (size_t i = 0; i + 1 < reals[k].size(); i += 2) result.push_back({reals[k][i], reals[k][i + 1]});
        if (reals[k].size() % 2 != 0)
          left_over[rank_[reals[k].back()] * kinds_.size() + k].push_back(reals[k].back());
      }
    }
    for (const std::vector<size_t>& singles : left_over) {
      for (size_t i = 0; i + 1 < singles.size(); i += 2) result.push_back({singles[i], singles[i + 1]});
      if (singles.size() % 2 != 0) result.push_back({singles.back()});
    }
    return result;
  }

 private:
  static constexpr uint64_t kExhaustive = uint64_t{1} << 12;  // choices up to which all are tried
  static constexpr size_t kNearby = 8;    // groups or candidates that count as neighbours of one another
  static constexpr size_t kSearches = 4;  // best starts that are improved
  // Above so many candidates, all groups of one rank and label move as one, among fewer neighbours and from
  // fewer starts: the ciphertexts of a wide model are alike.
  static constexpr size_t kSingles = 500;
  static constexpr size_t kNearbyGroups = 3;
  static constexpr size_t kGroupSearches = 2;
  static constexpr int kThresholdStep = 4;
  static constexpr size_t kMostKinds = 3;  // of a candidate

  // An instruction as the level pass reads it.
  struct Step {
    enum class Kind : uint8_t { kInput, kRefresh, kOther };
    Kind kind;
    int depth;
    uint32_t arguments, results, end;  // ranges of operands_
    uint32_t seconds, levels;          // range of seconds_
    uint32_t first_candidate;
  };

  template <typename T>
  static uint32_t size32(const std::vector<T>& vector) {
    return static_cast<uint32_t>(vector.size());
  }

  size_t kind_index(size_t candidate, char choice) const { return candidates_[candidate].kinds[choice - 1]; }

  std::vector<size_t> kinds_of(int value) const {
    std::vector<size_t> kinds{0};
    for (const bool of_blocks : {false, true}) {
      size_t best = 0;
      for (size_t k = 1; k < kinds_.size(); ++k) {
        if (kinds_[k].kind.of_blocks() != of_blocks ||
            !kinds_[k].kind.keeps(program_.values[value].period, program_.values[value].block,
                                  program_.values[value].is_real))
          continue;
        if (best == 0 || kinds_[k].seconds < kinds_[best].seconds) best = k;
      }
      if (best != 0) kinds.push_back(best);
    }
    return kinds;
  }

  // The cheaper way to bootstrap it, by itself.
  char on(size_t candidate) const {
    const std::vector<size_t>& kinds = candidates_[candidate].kinds;
    const auto cheapest = std::ranges::min_element(kinds, {}, [&](size_t k) { return kinds_[k].seconds; });
    return static_cast<char>(1 + (cheapest - kinds.begin()));
  }

  bool is_wide() const { return candidates_.size() > kSingles; }

  // Groups with one key as one unit, in the order of their first.
  template <typename KeyOf>
  std::vector<std::vector<size_t>> units_by(const KeyOf& key_of) const {
    std::map<std::pair<int, std::string>, size_t> unit_of;
    std::vector<std::vector<size_t>> units;
    for (const std::vector<size_t>& group : groups_) {
      const std::string& label = program_.instructions[candidates_[group[0]].instruction].label;
      const auto [found, is_new] = unit_of.try_emplace(key_of(group, label), units.size());
      if (is_new) units.emplace_back();
      std::vector<size_t>& unit = units[found->second];
      unit.insert(unit.end(), group.begin(), group.end());
    }
    return units;
  }

  void find_units() {
    units_ = !is_wide() ? groups_ : units_by([&](const std::vector<size_t>& group, const std::string& label) {
      return std::pair(rank_[group[0]], label);
    });
    std::map<std::string, int> before;  // groups of a label
    layers_ = units_by([&](const std::vector<size_t>&, std::string label) {
      const int place = before[label]++;
      std::erase_if(label, [](char c) { return c >= '0' && c <= '9'; });
      return std::pair(place, label);
    });
  }

  void find_ranks() {
    std::vector<int> rank_of_value(program_.values.size(), 0);
    int highest = 0;
    for (const Instruction& instruction : program_.instructions) {
      int rank = 0;
      for (Value argument : instruction.arguments) rank = std::max(rank, rank_of_value[id(argument)]);
      if (instruction.opcode == Opcode::kRefresh) {
        rank_.insert(rank_.end(), instruction.arguments.size(), rank);
        highest = std::max(highest, ++rank);
      }
      for (Value result : instruction.results) rank_of_value[id(result)] = rank;
    }
    ranks_ = static_cast<size_t>(highest) + 1;
  }

  double bootstrap_seconds(const Choice& choice) {
    reals_.assign(ranks_ * kinds_.size(), 0);
    std::vector<int> whole(kinds_.size(), 0), single_reals(kinds_.size(), 0);
    for (size_t c = 0; c < candidates_.size(); ++c) {
      if (!choice[c]) continue;
      const size_t kind = kind_index(c, choice[c]);
      ++(candidates_[c].real ? reals_[rank_[c] * kinds_.size() + kind] : whole[kind]);
    }
    for (size_t i = 0; i < reals_.size(); ++i) {
      const size_t kind = i % kinds_.size();
      const int pairs = kinds_[kind].kind.of_blocks() ? 0 : reals_[i] / 2;
      whole[kind] += pairs;
      single_reals[kind] += reals_[i] - 2 * pairs;
    }
    double seconds = 0;
    for (size_t k = 0; k < kinds_.size(); ++k)
      seconds += whole[k] * kinds_[k].seconds + single_reals[k] * kinds_[k].real_seconds;
    return seconds;
  }

  // The backward pass; `decide` says of a candidate whose result needs a level how it is bootstrapped, if at all.
  template <typename Decide>
  Outcome pass(const Decide& decide) {
    std::fill(need_.begin(), need_.end(), ckks::Level(-1));
    std::fill(used_levels_.begin(), used_levels_.end(), 0);
    Outcome outcome;
    auto use = [&](int value, ckks::Level level, uint64_t levels) {
      need_[value] = std::max(need_[value], level);
      used_levels_[value] |= levels;
    };
    auto bit = [](ckks::Level level) { return uint64_t{1} << std::min<int>(level, 63); };
    // A value that is there at `level` is brought down once for every lower level at which it is used.
    auto drops = [&](int value, ckks::Level level) {
      for (uint64_t rest = used_levels_[value]; rest != 0; rest &= rest - 1) {
        const int target = std::countr_zero(rest);
        if (target < level && target < static_cast<int>(drop_seconds_.size()))
          outcome.seconds += drop_seconds_[target];
      }
    };
    for (size_t o = 0; o < program_.outputs.size(); ++o)
      use(program_.outputs[o].value.id, lowest_of_output_[o], bit(lowest_of_output_[o]));
    for (size_t i = steps_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      if (step.kind == Step::Kind::kRefresh) {
        for (uint32_t k = 0; k < step.end - step.results; ++k) {
          const int argument = operands_[step.arguments + k], result = operands_[step.results + k];
          const char decision = decide(step.first_candidate + k, need_[result]);
          if (decision == kNone) {
            use(argument, need_[result], used_levels_[result]);
            continue;
          }
          const BootstrapFigures& kind = kinds_[kind_index(step.first_candidate + k, decision)];
          outcome.missing += std::max(0, need_[result] - kind.output_level);
          drops(result, kind.output_level);
          use(argument, kind.entry_level, bit(kind.entry_level));
        }
        continue;
      }
      ckks::Level level = -1;
      for (uint32_t k = step.results; k < step.end; ++k) level = std::max(level, need_[operands_[k]]);
      if (level < 0) continue;  // an input that nothing uses
      for (uint32_t k = step.results; k < step.end; ++k) {
        need_[operands_[k]] = level;
        drops(operands_[k], level);
      }
      if (step.kind == Step::Kind::kInput) {
        outcome.missing += std::max(0, level - highest_of_input_[operands_[step.results]]);
        continue;
      }
      const ckks::Level argument_level = level + step.depth;
      for (uint32_t k = step.arguments; k < step.results; ++k)
        use(operands_[k], argument_level, bit(argument_level));
      outcome.seconds += seconds_[step.seconds + std::min(static_cast<uint32_t>(level), step.levels - 1)];
    }
    return outcome;
  }

  // Moves lead to the same choices again and again, so each is evaluated once.
  bool keep_if_better(const Choice& changed, Choice& choice, Outcome& outcome) {
    const auto [known, is_new] = known_.try_emplace(changed);
    if (is_new) known->second = evaluate(changed);
    if (!known->second.better_than(outcome)) return false;
    choice = changed;
    outcome = known->second;
    return true;
  }

  bool try_flips(Choice& choice, Outcome& outcome, std::initializer_list<size_t> flipped) {
    Choice changed = choice;
    for (size_t c : flipped) changed[c] = changed[c] ? char{kNone} : on(c);
    return keep_if_better(changed, choice, outcome);
  }

  // Other kinds of bootstraps for the same candidates.
  bool try_kinds(Choice& choice, Outcome& outcome, std::span<const size_t> exchanged) {
    bool improved = false;
    for (size_t by = 1; by < kMostKinds; ++by) {
      Choice changed = choice;
      for (size_t c : exchanged)
        if (changed[c] != kNone)
          changed[c] =
              static_cast<char>(1 + (static_cast<size_t>(changed[c]) - 1 + by) % candidates_[c].kinds.size());
      improved |= changed != choice && keep_if_better(changed, choice, outcome);
    }
    return improved;
  }

  // Drops one group and adds another; the same one twice toggles it as a whole.
  bool try_group(Choice& choice, Outcome& outcome, const std::vector<size_t>& dropped,
                 const std::vector<size_t>& added) {
    Choice changed = choice;
    if (&dropped == &added) {
      const bool any = std::ranges::any_of(added, [&](size_t c) { return choice[c]; });
      for (size_t c : added) changed[c] = any ? char{kNone} : on(c);
    } else {
      for (size_t c : dropped) changed[c] = 0;
      for (size_t c : added) changed[c] = on(c);
    }
    return changed != choice && keep_if_better(changed, choice, outcome);
  }

  // Moves units, each to its neighbours.
  bool move_units(const std::vector<std::vector<size_t>>& units, size_t nearby, Choice& choice,
                  Outcome& outcome) {
    bool improved = false;
    for (size_t g = 0; g < units.size(); ++g) {
      const size_t first = g > nearby ? g - nearby : 0, last = std::min(units.size(), g + nearby + 1);
      for (size_t h = first; h < last; ++h) improved |= try_group(choice, outcome, units[g], units[h]);
      improved |= try_kinds(choice, outcome, units[g]);
    }
    return improved;
  }

  void improve(Choice& choice, Outcome& outcome) {
    const size_t nearby = is_wide() ? kNearbyGroups : kNearby;
    for (bool improved = true; improved;) {
      improved = move_units(units_, nearby, choice, outcome);
      if (is_wide()) continue;
      for (size_t c = 0; c < candidates_.size(); ++c) {
        improved |= try_flips(choice, outcome, {c});
        improved |= try_kinds(choice, outcome, {&c, 1});
      }
      for (size_t c = 0; c < candidates_.size(); ++c) {
        const size_t last = std::min(candidates_.size(), c + kNearby + 1);
        for (size_t d = c + 1; d < last; ++d) {
          improved |= try_flips(choice, outcome, {c, d});
          const size_t both[] = {c, d};
          improved |= try_kinds(choice, outcome, both);
          for (size_t e = d + 1; e < last; ++e) improved |= try_flips(choice, outcome, {c, d, e});
        }
      }
    }
  }

  // One backward pass that refreshes what needs more than the threshold where it is met.
  Choice start_above(int threshold) {
    Choice choice(candidates_.size(), kNone);
    pass([&](size_t candidate, int need) {
      return choice[candidate] = need > threshold ? on(candidate) : char{kNone};
    });
    return choice;
  }

  // From everything refreshed: drops groups, then candidates, from the last to the first, as long as no more
  // levels are missing.
  Choice start_as_late_as_possible() {
    Choice choice = everything();
    int missing = evaluate(choice).missing;
    auto drop = [&](const std::vector<size_t>& dropped) {
      Choice changed = choice;
      for (size_t c : dropped) changed[c] = kNone;
      const Outcome found = evaluate(changed);
      if (found.missing > missing) return;
      missing = found.missing;
      choice = std::move(changed);
    };
    for (size_t g = units_.size(); g-- > 0;) drop(units_[g]);
    if (is_wide()) return choice;
    for (size_t c = candidates_.size(); c-- > 0;) drop({c});
    return choice;
  }

  Choice everything() const {
    Choice choice(candidates_.size(), kNone);
    for (size_t c = 0; c < choice.size(); ++c) choice[c] = on(c);
    return choice;
  }

  // How many there are, or more than are tried.
  uint64_t choices() const {
    uint64_t count = 1;
    for (const Candidate& candidate : candidates_)
      if (count <= kExhaustive) count *= 1 + candidate.kinds.size();
    return count;
  }

  Choice exhaustive() {
    Choice best(candidates_.size(), kNone);
    Outcome outcome = evaluate(best);
    for (uint64_t number = 1; number < choices(); ++number) {
      Choice choice(candidates_.size(), kNone);
      uint64_t rest = number;
      for (size_t c = 0; c < choice.size(); ++c) {
        const uint64_t ways = 1 + candidates_[c].kinds.size();
        choice[c] = static_cast<char>(rest % ways);
        rest /= ways;
      }
      keep_if_better(choice, best, outcome);
    }
    return best;
  }

  const Program& program_;
  const std::vector<BootstrapFigures>& kinds_;  // the full one first
  const ckks::Level max_level_;                 // of a bootstrap's result and of an input
  std::vector<double> drop_seconds_;            // by target level
  std::vector<Candidate> candidates_;
  std::vector<std::vector<size_t>> groups_;  // candidates of each kRefresh
  std::vector<std::vector<size_t>>
      layers_;                              // groups of one place in all layers: labels alike but for numbers
  std::vector<std::vector<size_t>> units_;  // what moves together: a group, or alike groups of a wide model
  std::vector<int> rank_;                   // by candidate: longest chain of groups that lead to its group
  std::vector<Step> steps_;                 // by instruction
  std::vector<int> operands_;               // of all steps: values, arguments first, then results
  std::vector<double> seconds_;             // of all steps, by level of their results
  std::vector<ckks::Level> highest_of_input_;  // by value
  std::vector<ckks::Level> lowest_of_output_;  // by output
  std::vector<ckks::Level> need_;              // scratch: by value
  std::vector<uint64_t> used_levels_;          // scratch: by value, bit l = used at level l
  size_t ranks_ = 0;
  std::vector<int> reals_;  // scratch: by rank and kind
  std::unordered_map<Choice, Outcome> known_;
};

}  // namespace psm::program
