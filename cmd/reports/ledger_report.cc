#include "cmd/reports/ledger_report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/joined.h"
#include "ckks/base/memory.h"
#include "ckks/program/planning/meter.h"
#include "cmd/terminal/html.h"
#include "cmd/terminal/svg_plot.h"

namespace psm::cmd {
namespace {

using program::Instruction;
using program::LedgerRow;
using program::LedgerSummary;
using program::Opcode;

constexpr size_t kPanelRows = 1000, kMostPanels = 4;  // of the chart of levels

// Nothing of what nobody knows.
std::string known(double value, std::string (*text)(double)) { return value > 0 ? text(value) : ""; }

std::string number_text(ckks::Complex z) {
  return format("%.6g", z.real()) + (z.imag() == 0 ? "" : format(" %+.6g i", z.imag()));
}

// Says what belongs to the instruction alone: a plaintext, offsets, a map, a series, a kind of bootstrap.
std::string detail_of(const Instruction& i, size_t slots) {
  if (const size_t period = i.plain.period(); period > 0) {
    if (period == 1) return "number " + number_text(i.plain.at(0));
    return message(i.plain.real() ? "real vector" : "complex vector",
                   period < slots ? message(" of period ", period) : "");
  }
  if (!i.offsets.empty()) return "by " + joined(i.offsets, ", ", {}, kMostListed);
  if (i.linear) return counted(i.linear->terms.size(), "diagonal");
  if (i.series) return message("degree ", std::max<size_t>(i.series->coefficients.size(), 1) - 1);
  return i.opcode == Opcode::kBootstrap ? "of " + i.bootstrap.text() : "";
}

std::string charts(const std::vector<LedgerRow>& all) {
  std::vector<LedgerRow> rows;  // the first of each instruction
  for (const LedgerRow& row : all)
    if (rows.empty() || rows.back().instruction != row.instruction) rows.push_back(row);
  SvgFigure figure("Along the program");
  // Layers are bands, bootstraps are marks.
  const auto panel_of = [&](const char* title, const char* y_label,
                            std::span<const LedgerRow> part) -> SvgPanel& {
    SvgPanel& panel = figure.panel(title, "instruction", y_label);
    std::vector<double> bootstraps;
    for (const LedgerRow& row : part) {
      const auto at = static_cast<double>(row.instruction);
      if (row.opcode == Opcode::kBootstrap) bootstraps.push_back(at);
      panel.band(program::block_of(row.label, 1), at, at + 1);
    }
    panel.mark(counted(bootstraps.size(), "bootstrap"), bootstraps);
    return panel;
  };
  using Get = std::function<double(const LedgerRow&)>;
  // A value holds until the next instruction.
  const auto line = [](SvgPanel& panel, const char* name, std::span<const LedgerRow> part, const Get& get) {
    PlotPoints points;
    for (const LedgerRow& row : part)
      for (const int end : {0, 1}) points.emplace_back(static_cast<double>(row.instruction) + end, get(row));
    panel.line(name, std::move(points));
  };
  const auto log2_of = [](std::optional<double> std) {
    return std && *std > 0 ? std::log2(*std) : std::nan("");
  };
  const size_t panels = std::min(rows.size() / kPanelRows + 1, kMostPanels);
  const size_t in_panel = (rows.size() + panels - 1) / panels;
  for (size_t begin = 0; begin < rows.size(); begin += in_panel) {
    const auto part = std::span(rows).subspan(begin, std::min(in_panel, rows.size() - begin));
    line(panel_of(begin == 0 ? "Level of the results" : "", "level", part), "level", part,
         [](const LedgerRow& r) { return static_cast<double>(r.level); });
  }
  if (std::ranges::any_of(rows, [](const LedgerRow& r) { return r.predicted_std || r.measured_std; })) {
    SvgPanel& panel =
        panel_of("Error of a slot: standard deviation of re and of im", "log2 of the error", rows);
    line(panel, "predicted", rows, [&](const LedgerRow& r) { return log2_of(r.predicted_std); });
    line(panel, "measured", rows, [&](const LedgerRow& r) { return log2_of(r.measured_std); });
  }
  if (std::ranges::any_of(rows, [](const LedgerRow& r) { return r.range.has_value(); }))
    line(panel_of("Range of the values", "max |x|", rows), "max |x|", rows,
         [](const LedgerRow& r) { return r.range ? r.range->max_abs : std::nan(""); });
  SvgPanel& time = panel_of("Seconds from the start of a pass", "seconds", rows);
  for (const auto& [name, seconds] :
       {std::pair("measured", &LedgerRow::seconds), {"predicted", &LedgerRow::predicted_seconds}}) {
    PlotPoints points;
    double sum = 0;
    for (const LedgerRow& row : rows)
      points.emplace_back(static_cast<double>(row.instruction) + 1, sum += row.*seconds);
    if (sum > 0) time.line(name, std::move(points));
  }
  return html_wide("Along the program", figure.text());
}

}  // namespace

Figures row_figures(const program::Ledger& ledger, std::span<const LedgerRow> rows) {
  const program::Plan& plan = ledger.plan();
  const program::Program& p = plan.program;
  Figures figures({"operation", "values", "", "label", "slots"});
  for (const LedgerRow& row : rows) {
    const Instruction& i = p.instructions[row.instruction];
    const auto id = static_cast<size_t>(row.value.id);
    Json arguments = Json::Array{};
    std::vector<std::string> names;
    for (const program::Value argument : i.arguments) {
      arguments.push_back(argument.id);
      names.push_back(message("%", argument.id));
    }
    const std::string level = std::to_string(int{row.level}), detail = detail_of(i, p.slots);
    const std::string from =
        i.arguments.empty() ? "" : message(int{plan.argument_level[row.instruction]}, " -> ");
    Figures::Row& out = figures.row();
    out.both("instruction", "instruction", static_cast<int64_t>(row.instruction))
        .json("value", row.value.id)
        .json("arguments", std::move(arguments))
        .both("operation", "operation", program::name(row.opcode))
        .json("argument_level", int{plan.argument_level[row.instruction]})
        .both("level", "level", int{row.level}, from + level)
        .number("log2_scale", "log2 scale", row.log2_scale, "%.2f")
        .json("real", p.values[id].is_real)
        .json("period", static_cast<int64_t>(p.values[id].period))
        .json("block", static_cast<int64_t>(p.values[id].block))
        .cell("slots", message(p.values[id].is_real ? "real" : "complex",
                               p.values[id].period < p.slots ? message(" ", p.values[id].period) : "",
                               p.values[id].block > 1 ? message(" / ", p.values[id].block) : ""));
    if (row.range)
      out.json("min_re", row.range->min_re)
          .json("max_re", row.range->max_re)
          .json("min_im", row.range->min_im)
          .json("max_im", row.range->max_im)
          .json("max_abs", row.range->max_abs)
          .cell("range", format("%.3g", std::min(row.range->min_re, row.range->min_im)) + " to " +
                             format("%.3g", std::max(row.range->max_re, row.range->max_im)));
    out.number("own_std", "adds", row.own_std, power_of_two_text)
        .number("predicted_std", "predicted error", row.predicted_std, power_of_two_text)
        .number("measured_std", "measured error", row.measured_std, power_of_two_text)
        .both("seconds", "seconds", row.seconds, known(row.seconds, seconds_text))
        .both("predicted_seconds", "predicted", row.predicted_seconds,
              known(row.predicted_seconds, seconds_text))
        // The widest come last, where they push nothing out of sight.
        .both("label", "label", row.label)
        .cell("values",
              message(joined(names, ", ", {}, kMostListed), names.empty() ? "-> %" : " -> %", row.value.id))
        .both("detail", "", detail);
  }
  return figures;
}

Figures sum_figures(const std::vector<LedgerSummary>& groups, const char* what) {
  double seconds = 0, predicted = 0;
  for (const LedgerSummary& group : groups) seconds += group.seconds, predicted += group.predicted_seconds;
  Figures figures;
  for (const LedgerSummary& group : groups) {
    const double share = seconds > 0     ? group.seconds / seconds
                         : predicted > 0 ? group.predicted_seconds / predicted
                                         : 0;
    figures.row()
        .both(what, what, group.name, group.name.empty() ? "(outside blocks)" : group.name)
        .both("instructions", "instructions", group.instructions)
        .both("bootstraps", "bootstraps", group.bootstraps)
        .json("highest_level", int{group.highest_level})
        .json("lowest_level", int{group.lowest_level})
        .cell("levels", message(group.highest_level, "..", group.lowest_level))
        .both("max_abs", "max |x|", group.max_abs, group.max_abs > 0 ? format("%.3g", group.max_abs) : "")
        .both("largest_predicted_std", "error", group.largest_predicted_std,
              known(group.largest_predicted_std, power_of_two_text))
        .number("largest_measured_over_predicted", "meas./pred.", group.largest_measured_over_predicted,
                "%.2f")
        .both("seconds", "seconds", group.seconds, known(group.seconds, seconds_text))
        .both("predicted_seconds", "predicted", group.predicted_seconds,
              known(group.predicted_seconds, seconds_text))
        .cell("share", share > 0 ? percent(share) : "");
  }
  return figures;
}

std::string ledger_html(const program::Ledger& ledger) {
  return charts(ledger.rows()) + html_of(sum_figures(ledger.summary(), "block").table(), "By block") +
         html_of(sum_figures(ledger.by_kind(), "operation").table(), "By operation") +
         "<details><summary>One row for every result</summary>" +
         html_of(row_figures(ledger, ledger.rows()).table(), "Results") + "</details>\n";
}

std::string ledger_page(const LedgerReport& report) {
  double all = 0, bootstraps = 0;
  bool measured = false;
  for (const LedgerSummary& kind : report.ledger.by_kind()) measured = measured || kind.seconds > 0;
  for (const LedgerSummary& kind : report.ledger.by_kind()) {
    const double seconds = measured ? kind.seconds : kind.predicted_seconds;
    all += seconds;
    if (kind.bootstraps > 0) bootstraps += seconds;
  }
  Facts cards;
  if (all > 0)
    cards = {{measured ? "a pass" : "a pass, predicted", seconds_text(all)},
             {"in bootstraps", percent(bootstraps / all)}};
  cards.emplace_back("memory at its peak", bytes_text(static_cast<double>(peak_resident_bytes())));
  return html_page(report.title,
                   html_cards(cards) + html_lines(report.figures.facts()) + ledger_html(report.ledger));
}

Json ledger_json(const LedgerReport& report) {
  Json json = report.figures.object();
  json["title"] = report.title;
  json["blocks"] = sum_figures(report.ledger.summary(), "block").json();
  json["operations"] = sum_figures(report.ledger.by_kind(), "operation").json();
  json["rows"] = row_figures(report.ledger, report.ledger.rows()).json();
  return json;
}

LedgerFlag::LedgerFlag(Command& flags)
    : path(flags.output("ledger",
                        "write level, scale, range, errors and seconds of every instruction to this file: "
                        ".json or .html")) {
  flags.when_read([this] {
    if (given() && !path.ends_with(".json") && !path.ends_with(".html"))
      throw Error(
          message("--ledger ", path, " ends neither in .json (for machines) nor in .html (for people)"));
  });
}

void LedgerFlag::write(const LedgerReport& report) const {
  if (!given()) return;
  write_file(resolve_user_path(path),
             path.ends_with(".json") ? ledger_json(report).dump() + "\n" : ledger_page(report));
}

}  // namespace psm::cmd
