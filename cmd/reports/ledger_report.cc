#include "cmd/reports/ledger_report.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/memory.h"
#include "ckks/program/planning/meter.h"
#include "cmd/terminal/figures.h"
#include "cmd/terminal/html.h"
#include "cmd/terminal/svg_plot.h"

namespace psm::cmd {
namespace {

using program::LedgerRow;
using program::LedgerSummary;

constexpr size_t kCostliest = 10;

std::string bits(std::optional<double> value) { return value ? power_of_two_text(*value) : ""; }
// Parts of a whole; empty if the whole is not known.
std::string seconds(double part, double whole) { return whole > 0 ? format("%.3f", part) : ""; }
std::string share(double part, double whole) { return whole > 0 ? percent(part / whole) : ""; }

struct Totals {
  double seconds = 0, predicted = 0;
  double bootstrap_seconds = 0, predicted_bootstraps = 0;  // of these
};

Totals totals(const std::vector<LedgerRow>& rows) {
  Totals sum;
  for (const LedgerRow& row : rows) {
    sum.seconds += row.seconds;
    sum.predicted += row.predicted_seconds;
    if (row.opcode != program::Opcode::kBootstrap) continue;
    sum.bootstrap_seconds += row.seconds;
    sum.predicted_bootstraps += row.predicted_seconds;
  }
  return sum;
}

// What a reader asks first: seconds, how much of them are bootstraps, memory.
std::string summary(const Totals& all) {
  Facts facts;
  const bool measured = all.seconds > 0;
  const double whole = measured ? all.seconds : all.predicted;
  if (whole > 0) {
    facts.emplace_back(measured ? "a pass" : "a pass, predicted", seconds_text(whole));
    facts.emplace_back("in bootstraps",
                       percent((measured ? all.bootstrap_seconds : all.predicted_bootstraps) / whole));
  }
  facts.emplace_back("memory at its peak", bytes_text(static_cast<double>(peak_resident_bytes())));
  return html_cards(facts);
}

// What all panels share: layers as bands, bootstraps as marks.
void place_in_program(const std::vector<LedgerRow>& rows, SvgPanel& panel) {
  std::vector<double> bootstraps;
  for (const LedgerRow& row : rows) {
    const double at = static_cast<double>(row.instruction);
    if (row.opcode == program::Opcode::kBootstrap && (bootstraps.empty() || bootstraps.back() != at)) {
      bootstraps.push_back(at);
    }
    panel.band(program::block_of(row.label, 1), at, at + 1);
  }
  panel.mark(counted(bootstraps.size(), "bootstrap"), bootstraps);
}

template <typename Get>
PlotPoints steps(const std::vector<LedgerRow>& rows, const Get& get) {
  PlotPoints points;
  for (const LedgerRow& row : rows) points.emplace_back(static_cast<double>(row.instruction), get(row));
  return held(points);
}

std::string charts(const std::vector<LedgerRow>& rows, const Totals& all) {
  constexpr const char* kWhere = "instruction";
  const auto any = [&](const auto& has) { return std::any_of(rows.begin(), rows.end(), has); };
  SvgFigure figure("Along the program");
  const auto panel_of = [&](const char* title, const char* y_label) -> SvgPanel& {
    SvgPanel& panel = figure.panel(title, kWhere, y_label);
    place_in_program(rows, panel);
    return panel;
  };
  panel_of("Level of the results", "level").line("level", steps(rows, [](const LedgerRow& r) {
                                                   return static_cast<double>(r.level);
                                                 }));
  panel_of("Ciphertexts in memory", "ciphertexts").line("ciphertexts", steps(rows, [](const LedgerRow& r) {
                                                          return static_cast<double>(r.live);
                                                        }));
  if (any([](const LedgerRow& r) { return r.predicted_std || r.measured_std; })) {
    SvgPanel& panel = panel_of("Error of a slot: standard deviation of re and of im", "log2 of the error");
    const auto log2_of = [](const std::optional<double>& std) {
      return std && *std > 0 ? std::log2(*std) : std::nan("");
    };
    panel.line("predicted", steps(rows, [&](const LedgerRow& r) { return log2_of(r.predicted_std); }));
    panel.line("measured", steps(rows, [&](const LedgerRow& r) { return log2_of(r.measured_std); }));
  }
  if (any([](const LedgerRow& r) { return r.range.has_value(); })) {
    panel_of("Range of the values", "max |x|").line("max |x|", steps(rows, [](const LedgerRow& r) {
                                                      return r.range ? r.range->max_abs : std::nan("");
                                                    }));
  }
  const auto running = [&](double LedgerRow::*member) {
    PlotPoints points;
    double sum = 0;
    for (const LedgerRow& row : rows) {
      sum += row.*member;
      points.emplace_back(static_cast<double>(row.instruction) + 1, sum);
    }
    return points;
  };
  SvgPanel& time = panel_of("Seconds from the start of a pass", "seconds");
  if (all.seconds > 0) time.line("measured", running(&LedgerRow::seconds));
  if (all.predicted > 0) time.line("predicted", running(&LedgerRow::predicted_seconds));
  return html_wide("Along the program", figure.text());
}

Table costliest_table(const program::Ledger& ledger, const Totals& all) {
  Figures figures;
  for (const LedgerRow& row : ledger.costliest(kCostliest))
    figures.row()
        .cell("instruction", std::to_string(row.instruction))
        .cell("operation", program::name(row.opcode))
        .cell("where", row.label)
        .cell("level", std::to_string(row.level))
        .cell("seconds", seconds(row.seconds, all.seconds))
        .cell("share", share(row.seconds, all.seconds))
        .cell("predicted", seconds(row.predicted_seconds, all.predicted));
  return figures.table();
}

Table summary_table(const char* what, const std::vector<LedgerSummary>& groups, const Totals& all) {
  Figures figures;
  for (const LedgerSummary& group : groups) {
    const auto ratio = group.largest_measured_over_predicted;
    figures.row()
        .cell(what, group.name.empty() ? "(outside blocks)" : group.name)
        .cell("instructions", std::to_string(group.instructions))
        .cell("bootstraps", std::to_string(group.bootstraps))
        .cell("levels", message(group.highest_level, "..", group.lowest_level))
        .cell("max |x|", group.max_abs > 0 ? format("%.3g", group.max_abs) : "")
        .cell("error", group.largest_predicted_std > 0 ? bits(group.largest_predicted_std) : "")
        .cell("meas./pred.", ratio ? format("%.2f", *ratio) : "")
        .cell("seconds", seconds(group.seconds, all.seconds))
        .cell("share", share(group.seconds, all.seconds))
        .cell("predicted", seconds(group.predicted_seconds, all.predicted));
  }
  return figures.table();
}

Table rows_table(const std::vector<LedgerRow>& rows, const Totals& all) {
  Figures figures;
  for (const LedgerRow& row : rows)
    figures.row()
        .cell("instruction", std::to_string(row.instruction))
        .cell("operation", program::name(row.opcode))
        .cell("where", row.label)
        .cell("level", std::to_string(row.level))
        .cell("log2 scale", format("%.2f", row.log2_scale))
        .cell("range", row.range ? format("%.3g", std::min(row.range->min_re, row.range->min_im)) + " to " +
                                       format("%.3g", std::max(row.range->max_re, row.range->max_im))
                                 : "")
        .cell("adds", bits(row.own_std))
        .cell("predicted error", bits(row.predicted_std))
        .cell("measured error", bits(row.measured_std))
        .cell("seconds", seconds(row.seconds, all.seconds))
        .cell("predicted", seconds(row.predicted_seconds, all.predicted));
  return figures.table();
}

}  // namespace

std::string blocks_text(const program::Ledger& ledger) {
  return summary_table("block", ledger.summary(), totals(ledger.rows())).text();
}

std::string ledger_page(const LedgerReport& report) {
  const std::vector<LedgerRow>& rows = report.ledger.rows();
  const Totals all = totals(rows);
  std::string body = summary(all) + "<ul>\n";
  for (const std::string& fact : report.facts) body += html_tagged("li", fact) + "\n";
  body += "</ul>\n" + charts(rows, all);
  body += html_of(costliest_table(report.ledger, all), "The costliest instructions");
  body += html_of(summary_table("block", report.ledger.summary(), all), "By block");
  body += html_of(summary_table("operation", report.ledger.by_kind(), all), "By operation");
  body += "<details><summary>All " + std::to_string(rows.size()) + " rows</summary>\n" +
          html_of(rows_table(rows, all), "One row for every result") + "</details>\n";
  return html_page(report.title, body);
}

Json ledger_json(const LedgerReport& report) {
  Json json = report.figures;
  json["title"] = report.title;
  json["blocks"] = program::to_json(report.ledger.summary());
  json["operations"] = program::to_json(report.ledger.by_kind(), "operation");
  json["rows"] = report.ledger.json();
  return json;
}

LedgerFlag::LedgerFlag(Flags& flags)
    : path(flags.output("ledger",
                        "write level, scale, range, errors and seconds of every instruction to this file: "
                        ".json or .html")) {}

void LedgerFlag::apply() const {
  if (!given()) return;
  if (!path.ends_with(".json") && !path.ends_with(".html"))
    throw Error(
        message("--ledger ", path, " ends neither in .json (for machines) nor in .html (for people)"));
}

void LedgerFlag::write(const LedgerReport& report) const {
  if (!given()) return;
  write_file(resolve_user_path(path),
             path.ends_with(".json") ? ledger_json(report).dump() + "\n" : ledger_page(report));
}

}  // namespace psm::cmd
