// The page of a program: one file without anything from a network; a few lines of script search its instructions.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "ckks/base/error.h"
#include "cmd/reports/program_report.h"
#include "cmd/terminal/html.h"
#include "cmd/terminal/svg_plot.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

using program::Instruction;
using program::Opcode;

constexpr size_t kMostShown = 16;                         // of what is not folded
constexpr size_t kRowInstructions = 1000, kMostRows = 4;  // of the figure of levels

constexpr char kStyle[] =
    "<style>details{border-bottom:1px solid #8884}summary{padding:.35em 0;cursor:pointer}"
    "summary small{opacity:.7;margin-left:.6em}.rows{font-size:85%}"
    ".rows td,.rows th{white-space:nowrap;text-align:left}.rows td{font-variant-numeric:tabular-nums}"
    "input[type=search]{font:inherit;width:100%;box-sizing:border-box;padding:.4em .6em;margin:.3em "
    "0}</style>\n";

// A row is shown if its words, "layer 0 / attention / scores rotate 7 -> 7 ...", contain what is searched.
constexpr char kScript[] =
    "<script>for(const box of document.querySelectorAll('input[type=search]'))box.oninput=()=>{"
    "const wanted=box.value.toLowerCase();"
    "for(const part of box.parentNode.querySelectorAll('details')){let shown=0;"
    "for(const row of part.querySelectorAll('tbody tr')){"
    "const cells=[...row.cells].slice(1).map(cell=>cell.textContent).join(' ');"
    "row.hidden=!(part.dataset.block+' / '+cells).toLowerCase().includes(wanted);shown+=!row.hidden}"
    "part.hidden=!shown;part.open=wanted!=''}}</script>\n";

std::string named(const std::string& block) { return block.empty() ? "outside blocks" : block; }

// "attention" of "layer 3 / attention / scores"; all of a label that has one part.
std::string part_of(const std::string& label) {
  const std::string outer = program::block_of(label, 1), both = program::block_of(label, 2);
  return named(both.size() > outer.size() ? both.substr(outer.size() + 3) : outer);
}

std::string folded(const std::string& summary, bool open, const std::string& content) {
  return std::string("<details") + (open ? " open>" : ">") + html_tagged("summary", summary) + content +
         "</details>\n";
}

// Neighbours with the same block, "layer 3 / attention".
struct Run {
  std::string block;
  size_t first = 0, end = 0;
  double seconds = 0;
  size_t bootstraps = 0;
};

class EntryPage {
 public:
  EntryPage(const ShownProgram& shown, const ShownEntry& entry)
      : shown_(shown), entry_(entry), plan_(entry.point->plan), instructions_(plan_.program.instructions) {
    made_by_.resize(plan_.level.size());
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const Instruction& instruction = instructions_[i];
      const std::string block = program::block_of(instruction.label, 2);
      if (runs_.empty() || runs_.back().block != block) runs_.push_back({.block = block, .first = i});
      runs_.back().end = i + 1;
      runs_.back().seconds += seconds(i);
      runs_.back().bootstraps += instruction.opcode == Opcode::kBootstrap;
      for (const program::Value result : instruction.results) made_by_[static_cast<size_t>(result.id)] = i;
    }
  }

  std::string html() const {
    std::string out = html_tagged("h2", "Entry point " + entry_.point->name) + "\n" +
                      html_cards(figures_of(shown_, entry_)) + html_lines(facts_of(entry_));
    out += html_tagged("h3", "Levels along the program") + "\n" + levels();
    out += html_tagged("h3", "Predicted cost on " + shown_.machine) + "\n" + cost();
    out += html_tagged("h3", "Keys by level") + "\n" + html_of(keys_table(entry_), "keys");
    if (!entry_.predicted_errors.empty()) out += html_tagged("h3", "Predicted error") + "\n" + errors();
    if (!plan_.program.checks.empty())
      out += html_tagged("h3", "Ranges that the program relies on") + "\n" + ranges();
    return out + html_tagged("h3", "Instructions") + "\n" + all();
  }

 private:
  double seconds(size_t i) const { return entry_.reading.instruction_seconds[i]; }

  // The largest first, unless they are in the order of the program.
  Table costs(const char* what, std::vector<std::pair<std::string, double>> seconds, bool sorted) const {
    if (sorted)
      std::ranges::stable_sort(seconds, std::ranges::greater{}, &std::pair<std::string, double>::second);
    Table table({what, "seconds", "share"});
    for (const auto& [name, cost] : seconds)
      if (cost > 0) table.row({name, cost_text(cost), percent(cost / entry_.reading.seconds)});
    return table;
  }

  std::string cost() const {
    std::map<std::string, double> parts, operations;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      parts[part_of(instructions_[i].label)] += seconds(i);
      operations[program::name(instructions_[i].opcode)] += seconds(i);
    }
    std::vector<std::pair<std::string, double>> kernels, blocks;
    for (size_t k = 0; k < program::kWorkKindCount; ++k)
      kernels.emplace_back(program::name(static_cast<program::WorkKind>(k)),
                           entry_.reading.work.limbs[k] * shown_.kernels.seconds[k]);
    for (const program::BlockFigures& block : entry_.reading.blocks)
      blocks.emplace_back(named(block.block), block.seconds);
    return html_of(costs("part", {parts.begin(), parts.end()}, true), "parts") +
           html_of(costs("operation", {operations.begin(), operations.end()}, true), "operations") +
           html_of(costs("kernel", std::move(kernels), true), "kernels") +
           folded(counted(blocks.size(), "block"), blocks.size() <= kMostShown,
                  html_of(costs("block", blocks, false), "blocks"));
  }

  // Layers as bands. `value` of each of the instructions begin .. end - 1.
  template <typename Get>
  void draw(SvgPanel& panel, const char* name, size_t begin, size_t end, const Get& value) const {
    PlotPoints values;
    for (size_t i = begin; i < end; ++i) {
      const auto x = static_cast<double>(i);
      panel.band(program::block_of(instructions_[i].label, 1), x, x + 1);
      values.emplace_back(x, value(instructions_[i]));
    }
    panel.line(name, held(values));
  }

  // The lowest of an instruction's results, in rows like lines of a text.
  std::string levels() const {
    SvgFigure figure(message("Levels of ", counted(instructions_.size(), "instruction")));
    const size_t rows = std::clamp<size_t>(instructions_.size() / kRowInstructions + 1, 1, kMostRows);
    const size_t in_row = (instructions_.size() + rows - 1) / rows;
    for (size_t begin = 0; begin < instructions_.size(); begin += in_row) {
      const size_t end = std::min(begin + in_row, instructions_.size());
      SvgPanel& panel = figure.panel("", "instruction", "level");
      draw(panel, "level", begin, end, [&](const Instruction& instruction) {
        double least = std::nan("");
        for (const program::Value result : instruction.results)
          least = std::fmin(least, int{plan_.level[static_cast<size_t>(result.id)]});
        return least;
      });
      std::vector<double> bootstraps;
      for (size_t i = begin; i < end; ++i)
        if (instructions_[i].opcode == Opcode::kBootstrap) bootstraps.push_back(static_cast<double>(i));
      panel.mark(counted(bootstraps.size(), "bootstrap"), bootstraps);
    }
    return html_wide("levels", figure.text());
  }

  std::string errors() const {
    SvgFigure figure("Predicted error of re and im of a slot");
    SvgPanel& panel = figure.panel("", "instruction", "log2 of the standard deviation");
    draw(panel, "predicted", 0, instructions_.size(), [&](const Instruction& instruction) {
      double worst = 0;
      for (const program::Value result : instruction.results)
        worst = std::max(worst, entry_.predicted_errors[static_cast<size_t>(result.id)]);
      return worst > 0 ? std::log2(worst) : std::nan("");
    });
    return html_wide("errors", figure.text());
  }

  std::string ranges() const {
    const std::vector<program::RangeCheck>& checks = plan_.program.checks;
    size_t beyond = 0;
    Table table({"", "block", "value", "interval", "observed"});
    for (size_t c = 0; c < checks.size(); ++c) {
      const size_t made_by = made_by_[static_cast<size_t>(checks[c].value.id)];
      std::string observed;
      if (!entry_.observed_ranges.empty()) {
        const double lo = entry_.observed_ranges[2 * c], hi = entry_.observed_ranges[2 * c + 1];
        const bool inside = lo >= checks[c].lo && hi <= checks[c].hi;
        beyond += !inside;
        observed = (inside ? "" : "beyond: ") + format("%.4g", lo) + " to " + format("%.4g", hi);
      }
      table.row({std::to_string(made_by), program::block_of(instructions_[made_by].label, 2), checks[c].what,
                 range_text(checks[c].lo, checks[c].hi), observed});
    }
    const std::string summary =
        counted(checks.size(), "range") +
        (entry_.observed_ranges.empty() ? "" : message(", ", beyond, " observed beyond the interval"));
    return folded(summary, checks.size() <= kMostShown, html_of(table, "ranges"));
  }

  std::string all() const {
    std::string out =
        "<div><input type=\"search\" placeholder=\"Search labels, operations and values\" "
        "aria-label=\"Search instructions\">\n";
    for (const Run& run : runs_) {
      const std::string name = named(run.block);
      out += "<details data-block=\"" + xml_escape(name) + "\"><summary>" + xml_escape(name) + "<small>" +
             xml_escape(counted(run.end - run.first, "instruction")) +
             (run.bootstraps > 0 ? ", " + counted(run.bootstraps, "bootstrap") : "") + ", " +
             cost_text(run.seconds) +
             "</small></summary><div class=\"wide\" tabindex=\"0\"><table class=\"rows\"><thead><tr>";
      for (const char* heading :
           {"", "label", "operation", "level", "seconds", "values", "", "slots", "log2 scale"})
        out += html_tagged("th", heading);
      if (!entry_.predicted_errors.empty()) out += "<th>error</th>";
      out += "</tr></thead><tbody>\n";
      for (size_t i = run.first; i < run.end; ++i) {
        const InstructionText text = text_of(shown_, entry_, i);
        const std::string rest =
            text.label.size() > run.block.size() + 3 ? text.label.substr(run.block.size() + 3) : "";
        out += "<tr>";
        for (const std::string& cell : {std::to_string(i), rest, text.operation, text.levels, text.seconds,
                                        text.values, text.detail, text.slots, text.scale})
          out += html_tagged("td", cell);
        if (!entry_.predicted_errors.empty()) out += html_tagged("td", text.error);
        out += "</tr>\n";
      }
      out += "</tbody></table></div></details>\n";
    }
    return out + "</div>\n";
  }

  const ShownProgram& shown_;
  const ShownEntry& entry_;
  const program::Plan& plan_;
  const std::vector<Instruction>& instructions_;
  std::vector<Run> runs_;
  std::vector<size_t> made_by_;  // by value id: the instruction
};

}  // namespace

std::string program_page(const ShownProgram& shown) {
  std::string body = kStyle + html_lines(facts_of(shown));
  for (const ShownEntry& entry : shown.entries) body += EntryPage(shown, entry).html();
  return html_page(shown.name, body + kScript);
}

}  // namespace psm::cmd
