// The ledger: one row for every result of a plan, with its level, scale, range, predicted and measured error
// and time, and a summary by block.
//
// Different parts fill the columns: the twin ranges, noise.h predicted errors, the encrypted machine and the
// meter seconds. Measured errors need a secret key: an oracle in a test, or a client that decrypts named
// outputs, hands in decrypted and expected values.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/program/plan.h"

namespace psm::program {

struct LedgerRow {
  size_t instruction = 0;
  Value value;
  Opcode opcode{};
  std::string label{};
  ckks::Level level = 0;
  double log2_scale = 0;
  std::optional<Observation> range{};
  std::optional<double> own_std{};        // error that the instruction adds, of re and of im
  std::optional<double> predicted_std{};  // accumulated
  std::optional<double> measured_std{};
  double seconds = 0;  // of the instruction, in the row of its first result
  double predicted_seconds = 0;
};

struct LedgerSummary {
  std::string name{};  // of a block or of an operation
  int instructions = 0, bootstraps = 0;
  ckks::Level highest_level = 0, lowest_level = 0;
  double max_abs = 0;
  double largest_predicted_std = 0;
  std::optional<double> largest_measured_over_predicted{};
  double seconds = 0, predicted_seconds = 0;
};

class Ledger {
 public:
  // `scales[l]` is the scale of level l. The plan outlives the ledger.
  Ledger(const Plan& plan, std::span<const double> scales)
      : plan_(plan), row_of_value_(plan.level.size(), -1) {
    for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
      const Instruction& instruction = plan.program.instructions[i];
      for (Value value : instruction.results) {
        const ckks::Level level = plan.level[value.id];
        PSM_CHECK(static_cast<size_t>(level) < scales.size(), "level ", level, " of ", scales.size(),
                  " scales");
        row_of_value_[value.id] = static_cast<int>(rows_.size());
        rows_.push_back({.instruction = i,
                         .value = value,
                         .opcode = instruction.opcode,
                         .label = instruction.label,
                         .level = level,
                         .log2_scale = std::log2(scales[level])});
      }
    }
  }

  void set_ranges(std::span<const Observation> by_value) {
    PSM_CHECK(by_value.size() == row_of_value_.size(), by_value.size());
    for (LedgerRow& row : rows_) row.range = by_value[row.value.id];
  }
  // `own` is empty if it is not known.
  void set_predicted_errors(std::span<const double> own, std::span<const double> accumulated) {
    PSM_CHECK(accumulated.size() == row_of_value_.size(), accumulated.size());
    PSM_CHECK(own.empty() || own.size() == accumulated.size(), own.size());
    for (LedgerRow& row : rows_) {
      if (!own.empty()) row.own_std = own[row.value.id];
      row.predicted_std = accumulated[row.value.id];
    }
  }
  void set_seconds(std::span<const double> by_instruction) { set(&LedgerRow::seconds, by_instruction); }
  void set_predicted_seconds(std::span<const double> by_instruction) {
    set(&LedgerRow::predicted_seconds, by_instruction);
  }
  // The error of one value: root mean square of re and im of the difference over all slots.
  void set_measured(Value value, std::span<const ckks::Complex> decrypted,
                    std::span<const ckks::Complex> expected) {
    row(value);  // throws for a value that is not here
    PSM_CHECK(decrypted.size() == expected.size() && !expected.empty(), decrypted.size(), " and ",
              expected.size());
    double sum = 0;
    for (size_t s = 0; s < expected.size(); ++s) sum += std::norm(decrypted[s] - expected[s]);
    rows_[row_of_value_[value.id]].measured_std = std::sqrt(sum / (2 * static_cast<double>(expected.size())));
  }

  const Plan& plan() const { return plan_; }
  const std::vector<LedgerRow>& rows() const { return rows_; }
  const LedgerRow& row(Value value) const {
    const int index =
        value.id >= 0 && static_cast<size_t>(value.id) < row_of_value_.size() ? row_of_value_[value.id] : -1;
    if (index < 0)
      throw Error(message("value ", value.id, " is not in the plan of this ledger; name one that is"));
    return rows_[index];
  }
  // By the first parts of the labels, in order of appearance.
  std::vector<LedgerSummary> summary(int block_parts = 2) const {
    return grouped([&](const LedgerRow& row) { return block_of(row.label, block_parts); });
  }
  // By operation, the longest first.
  std::vector<LedgerSummary> by_kind() const {
    std::vector<LedgerSummary> kinds =
        grouped([](const LedgerRow& row) { return std::string(name(row.opcode)); });
    std::stable_sort(kinds.begin(), kinds.end(), [](const LedgerSummary& a, const LedgerSummary& b) {
      return std::pair(a.seconds, a.predicted_seconds) > std::pair(b.seconds, b.predicted_seconds);
    });
    return kinds;
  }

 private:
  void set(double LedgerRow::*seconds, std::span<const double> by_instruction) {
    for (size_t r = 0; r < rows_.size(); ++r)
      rows_[r].*seconds = is_first(r) ? by_instruction[rows_[r].instruction] : 0;
  }

  // Whether it is the first row of its instruction.
  bool is_first(size_t row) const { return row == 0 || rows_[row - 1].instruction != rows_[row].instruction; }

  std::vector<LedgerSummary> grouped(const std::function<std::string(const LedgerRow&)>& name_of) const {
    std::vector<LedgerSummary> blocks;
    std::map<std::string, size_t> index;
    for (size_t r = 0; r < rows_.size(); ++r) {
      const LedgerRow& row = rows_[r];
      const std::string name = name_of(row);
      const auto [found, is_new] = index.try_emplace(name, blocks.size());
      if (is_new) blocks.push_back({.name = name, .highest_level = row.level, .lowest_level = row.level});
      LedgerSummary& block = blocks[found->second];
      if (is_first(r)) {
        ++block.instructions;
        block.bootstraps += row.opcode == Opcode::kBootstrap;
      }
      block.highest_level = std::max(block.highest_level, row.level);
      block.lowest_level = std::min(block.lowest_level, row.level);
      if (row.range) block.max_abs = std::max(block.max_abs, row.range->max_abs);
      if (row.predicted_std)
        block.largest_predicted_std = std::max(block.largest_predicted_std, *row.predicted_std);
      if (row.measured_std && row.predicted_std && *row.predicted_std > 0) {
        const double ratio = *row.measured_std / *row.predicted_std;
        block.largest_measured_over_predicted =
            std::max(block.largest_measured_over_predicted.value_or(0), ratio);
      }
      block.seconds += row.seconds;
      block.predicted_seconds += row.predicted_seconds;
    }
    return blocks;
  }

  const Plan& plan_;
  std::vector<LedgerRow> rows_;
  std::vector<int> row_of_value_;
};

}  // namespace psm::program
