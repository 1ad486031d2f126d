#include "ckks/program/errors/ledger.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/planning/meter.h"

namespace psm::program {
namespace {

constexpr auto took_longer = [](const auto& a, const auto& b) {
  return std::pair(a.seconds, a.predicted_seconds) > std::pair(b.seconds, b.predicted_seconds);
};

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

Ledger::Ledger(const Plan& plan, std::span<const double> scales) : row_of_value_(plan.level.size(), -1) {
  int live = 0;
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    live += static_cast<int>(instruction.results.size());
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
                       .log2_scale = std::log2(scales[level]),
                       .live = live});
    }
    live -= static_cast<int>(plan.last_use[i].size());
  }
}

const LedgerRow& Ledger::row(Value value) const {
  const int index =
      value.id >= 0 && static_cast<size_t>(value.id) < row_of_value_.size() ? row_of_value_[value.id] : -1;
  if (index < 0)
    throw Error(message("value ", value.id, " is not in the plan of this ledger; name one that is"));
  return rows_[index];
}

void Ledger::set_ranges(std::span<const Observation> by_value) {
  PSM_CHECK(by_value.size() == row_of_value_.size(), by_value.size());
  for (LedgerRow& row : rows_) row.range = by_value[row.value.id];
}

void Ledger::set_predicted_errors(std::span<const double> own, std::span<const double> accumulated) {
  PSM_CHECK(own.size() == row_of_value_.size() && accumulated.size() == own.size(), own.size());
  for (LedgerRow& row : rows_) {
    row.own_std = own[row.value.id];
    row.predicted_std = accumulated[row.value.id];
  }
}

void Ledger::set(double LedgerRow::*seconds, std::span<const double> by_instruction) {
  for (size_t r = 0; r < rows_.size(); ++r)
    rows_[r].*seconds = is_first(r) ? by_instruction[rows_[r].instruction] : 0;
}

bool Ledger::is_first(size_t row) const {
  return row == 0 || rows_[row - 1].instruction != rows_[row].instruction;
}

void Ledger::set_measured(Value value, std::span<const ckks::Complex> decrypted,
                          std::span<const ckks::Complex> expected) {
  row(value);  // throws for a value that is not here
  PSM_CHECK(decrypted.size() == expected.size() && !expected.empty(), decrypted.size(), " and ",
            expected.size());
  double sum = 0;
  for (size_t s = 0; s < expected.size(); ++s) sum += std::norm(decrypted[s] - expected[s]);
  rows_[row_of_value_[value.id]].measured_std = std::sqrt(sum / (2 * static_cast<double>(expected.size())));
}

std::vector<LedgerSummary> Ledger::summary(int block_parts) const {
  return grouped([&](const LedgerRow& row) { return block_of(row.label, block_parts); });
}

std::vector<LedgerSummary> Ledger::by_kind() const {
  std::vector<LedgerSummary> kinds =
      grouped([](const LedgerRow& row) { return std::string(name(row.opcode)); });
  std::stable_sort(kinds.begin(), kinds.end(), took_longer);
  return kinds;
}

std::vector<LedgerRow> Ledger::costliest(size_t count) const {
  std::vector<LedgerRow> first;
  for (size_t r = 0; r < rows_.size(); ++r)
    if (is_first(r)) first.push_back(rows_[r]);
  std::stable_sort(first.begin(), first.end(), took_longer);
  if (first.size() > count) first.resize(count);
  return first;
}

std::vector<LedgerSummary> Ledger::grouped(
    const std::function<std::string(const LedgerRow&)>& name_of) const {
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

Json Ledger::json() const {
  Json rows(Json::Array{});
  for (const LedgerRow& row : rows_) {
    Json entry;
    entry["instruction"] = static_cast<int64_t>(row.instruction);
    entry["value"] = row.value.id;
    entry["operation"] = name(row.opcode);
    entry["label"] = row.label;
    entry["level"] = int{row.level};
    entry["log2_scale"] = row.log2_scale;
    entry["live"] = row.live;
    if (row.range) {
      entry["min_re"] = row.range->min_re;
      entry["max_re"] = row.range->max_re;
      entry["min_im"] = row.range->min_im;
      entry["max_im"] = row.range->max_im;
      entry["max_abs"] = row.range->max_abs;
    }
    entry["own_std"] = optional_json(row.own_std);
    entry["predicted_std"] = optional_json(row.predicted_std);
    entry["measured_std"] = optional_json(row.measured_std);
    entry["seconds"] = row.seconds;
    entry["predicted_seconds"] = row.predicted_seconds;
    rows.push_back(std::move(entry));
  }
  return rows;
}

// Columns that nobody filled are left out: a server knows times, the client knows ranges and errors as well.
Json to_json(std::span<const LedgerSummary> blocks, const char* name_key) {
  Json rows(Json::Array{});
  for (const LedgerSummary& block : blocks) {
    Json entry;
    entry[name_key] = block.name;
    entry["instructions"] = block.instructions;
    entry["bootstraps"] = block.bootstraps;
    entry["highest_level"] = int{block.highest_level};
    entry["lowest_level"] = int{block.lowest_level};
    entry["max_abs"] = block.max_abs;
    entry["largest_predicted_std"] = block.largest_predicted_std;
    entry["largest_measured_over_predicted"] = optional_json(block.largest_measured_over_predicted);
    entry["seconds"] = block.seconds;
    entry["predicted_seconds"] = block.predicted_seconds;
    rows.push_back(std::move(entry));
  }
  return rows;
}

}  // namespace psm::program
