// The ledger: one row for every result of a plan, with its level, scale, range, predicted and measured error
// and time, and a summary by block.
//
// Different parts fill the columns: the twin ranges, noise.h predicted errors, the encrypted machine and the
// meter seconds. Measured errors need a secret key: an oracle in a test, or a client that decrypts named
// outputs, hands in decrypted and expected values.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckks/program/plan.h"

namespace psm::program {

struct LedgerRow {
  size_t instruction = 0;
  Value value;
  Opcode opcode{};
  std::string label{};
  ckks::Level level = 0;
  double log2_scale = 0;
  int live =
      0;  // values in memory while the instruction ends: its results, and what is used later or by itself
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
  Ledger(const Plan&, std::span<const double> scales);

  void set_ranges(std::span<const Observation> by_value);
  // `own` is empty if it is not known.
  void set_predicted_errors(std::span<const double> own, std::span<const double> accumulated);
  void set_seconds(std::span<const double> by_instruction) { set(&LedgerRow::seconds, by_instruction); }
  void set_predicted_seconds(std::span<const double> by_instruction) {
    set(&LedgerRow::predicted_seconds, by_instruction);
  }
  // The error of one value: root mean square of re and im of the difference over all slots.
  void set_measured(Value, std::span<const ckks::Complex> decrypted, std::span<const ckks::Complex> expected);

  const Plan& plan() const { return plan_; }
  const std::vector<LedgerRow>& rows() const { return rows_; }
  const LedgerRow& row(Value) const;
  // By the first parts of the labels, in order of appearance.
  std::vector<LedgerSummary> summary(int block_parts = 2) const;
  // By operation, the longest first.
  std::vector<LedgerSummary> by_kind() const;
  // The first rows of the instructions that took longest, measured or else predicted; at most `count`.
  std::vector<LedgerRow> costliest(size_t count) const;

 private:
  void set(double LedgerRow::*seconds, std::span<const double> by_instruction);
  // Whether it is the first row of its instruction.
  bool is_first(size_t row) const { return row == 0 || rows_[row - 1].instruction != rows_[row].instruction; }
  std::vector<LedgerSummary> grouped(const std::function<std::string(const LedgerRow&)>& name_of) const;

  const Plan& plan_;
  std::vector<LedgerRow> rows_;
  std::vector<int> row_of_value_;
};

}  // namespace psm::program
