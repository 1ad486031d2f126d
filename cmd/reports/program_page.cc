// The page of a program: one file without anything from a network; a few lines of script search its instructions.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
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

constexpr size_t kColours = 8, kMostShown = 16;
constexpr size_t kRowInstructions = 1000, kMostRows = 8, kMostColumns = 1400;
// Of the figure of levels, in its own units: the page scales it.
constexpr double kWidth = 760, kLeft = 30, kRight = 4, kHead = 36, kFoot = 24, kStrip = 52;

// Greys are half transparent, so that they suit light and dark.
constexpr char kStyle[] =
    "<style>.c0{--c:#0072b2}.c1{--c:#d55e00}.c2{--c:#009e73}.c3{--c:#b65a94}.c4{--c:#c98a00}.c5{--c:#4a9fd8}"
    ".c6{--c:#7a5fd0}.c7{--c:#777}"
    "@media(prefers-color-scheme:dark){.c0{--c:#3d8bfd}.c1{--c:#ff8c42}.c2{--c:#2fc79a}.c3{--c:#e29ac3}"
    ".c4{--c:#f0b429}.c5{--c:#9fd8ff}.c6{--c:#b3a0ff}.c7{--c:#aaa}}"
    ".program{width:100%}.program text{fill:currentColor;font:11px sans-serif}.program "
    ".high{fill:var(--c);opacity:.35}"
    ".program .low,.program .time{fill:var(--c)}.program .line{stroke:#8885}.program .odd{fill:#8882}"
    ".program .boot{stroke:currentColor;stroke-dasharray:2 3;opacity:.7}.program .peak{fill:currentColor}"
    ".facts dt{float:left;clear:left;width:7em}.facts dd{margin:0 0 .2em 7.5em;overflow-wrap:anywhere}"
    ".bars{width:100%}.bars td:nth-child(2){width:40%}.bars "
    "td:nth-child(n+3){white-space:nowrap}@media(max-width:30em){.bars td:nth-child(2){width:25%}}.bars "
    "i,.chip{background:var(--c,#0072b2);border-radius:2px}"
    ".bars i{display:block;height:.8em;min-width:1px}.chip{display:inline-block;width:.8em;height:.8em;"
    "margin-right:.5em}.legend>span{white-space:nowrap}.bars td,.rows td{font-variant-numeric:tabular-nums}"
    ".two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20em,100%),1fr));gap:1em 2em;"
    "align-items:start;margin:1em 0}"
    ".track{display:block;position:relative;height:.9em;min-width:8em;background:#8883;border-radius:2px}"
    ".track i{position:absolute;top:0;bottom:0;min-width:2px;border-radius:2px;background:var(--c)}"
    "details{border-bottom:1px solid #8884}summary{padding:.35em 0;cursor:pointer}summary small{opacity:.7;"
    "margin-left:.6em}.rows{font-size:85%}.rows td,.rows th{white-space:nowrap;text-align:left}"
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

std::string quoted(const std::string& text) { return "\"" + xml_escape(text) + "\""; }
std::string at(double pixels) { return format("%.2f", pixels); }
std::string colour(size_t index) { return message("c", index % kColours); }

// "attention" of "layer 3 / attention / scores"; all of a label that has one part.
std::string part_of(const std::string& label) {
  const std::string outer = program::block_of(label, 1), both = program::block_of(label, 2);
  const std::string part = both.size() > outer.size() ? both.substr(outer.size() + 3) : outer;
  return part.empty() ? "outside blocks" : part;
}

// Neighbours with the same block, "layer 3 / attention".
struct Run {
  std::string block;
  size_t first = 0, end = 0, colour = 0;
  double seconds = 0;
  int bootstraps = 0;
};

struct Bar {
  std::string name;
  double seconds = 0;
  size_t colour = 0;
};

class EntryPage {
 public:
  EntryPage(const ShownProgram& shown, const ShownEntry& entry)
      : shown_(shown), entry_(entry), plan_(entry.point->plan), instructions_(plan_.program.instructions) {
    made_by_.resize(plan_.level.size());
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const Instruction& instruction = instructions_[i];
      const std::string part = part_of(instruction.label), block = program::block_of(instruction.label, 2);
      const size_t number = colours_.try_emplace(part, parts_.size()).first->second;
      if (number == parts_.size()) parts_.push_back({part, 0, number});
      if (runs_.empty() || runs_.back().block != block)
        runs_.push_back({.block = block, .first = i, .colour = number});
      const std::string layer = program::block_of(block, 1);
      if (layers_.empty() || layers_.back().block != layer)
        layers_.push_back({.block = layer, .first = i, .colour = layers_.size()});
      layers_.back().end = runs_.back().end = i + 1;
      runs_.back().seconds += seconds(i);
      runs_.back().bootstraps += instruction.opcode == Opcode::kBootstrap;
      parts_[number].seconds += seconds(i);
      for (const program::Value result : instruction.results) made_by_[static_cast<size_t>(result.id)] = i;
    }
  }

  std::string html() const {
    std::string out =
        html_tagged("h2", "Entry point " + entry_.point->name) + "\n" + cards() + list(facts_of(entry_));
    out += html_tagged("h3", "Levels along the program") + "\n" + levels();
    out += html_tagged("h3", "Predicted cost on " + shown_.machine) + "\n" + cost();
    out += html_tagged("h3", "Keys by level") + "\n" + keys();
    if (!entry_.predicted_errors.empty()) out += html_tagged("h3", "Predicted error") + "\n" + errors();
    if (!plan_.program.checks.empty())
      out += html_tagged("h3", "Ranges that the program relies on") + "\n" + ranges();
    return out + html_tagged("h3", "Instructions") + "\n" + all();
  }

  static std::string list(const Facts& facts) {
    std::string out = "<dl class=\"facts\">\n";
    for (const auto& [name, value] : facts) out += html_tagged("dt", name) + html_tagged("dd", value) + "\n";
    return out + "</dl>\n";
  }

 private:
  double seconds(size_t i) const { return entry_.reading.instruction_seconds[i]; }
  double share(double part) const { return entry_.reading.seconds > 0 ? part / entry_.reading.seconds : 0; }
  ckks::Level level(program::Value value) const { return plan_.level[static_cast<size_t>(value.id)]; }

  std::string cards() const {
    std::string out = "<dl class=\"summary\">\n";
    for (const auto& [name, value] : figures_of(shown_, entry_))
      out += "<div>" + html_tagged("dt", name) + html_tagged("dd", value) + "</div>\n";
    return out + "</dl>\n";
  }

  static void sort(std::vector<Bar>& rows) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Bar& a, const Bar& b) { return a.seconds > b.seconds; });
  }

  std::string bars(const char* what, const std::vector<Bar>& rows) const {
    double most = 0;
    for (const Bar& row : rows) most = std::max(most, row.seconds);
    std::string out = std::string("<table class=\"bars\"><tr><th>") + what +
                      "</th><th></th><th>seconds</th><th>share</th></tr>\n";
    for (const Bar& row : rows)
      if (row.seconds > 0)
        out += "<tr class=\"" + colour(row.colour) + "\">" + html_tagged("td", row.name) + "<td>" +
               bar(most > 0 ? row.seconds / most : 0) + "</td>" + html_tagged("td", cost_text(row.seconds)) +
               html_tagged("td", percent(share(row.seconds))) + "</tr>\n";
    return out + "</table>\n";
  }
  static std::string bar(double fraction) { return "<i style=\"width:" + at(100 * fraction) + "%\"></i>"; }

  std::string cost() const {
    std::vector<Bar> operations, kernels, blocks, parts = parts_;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      const std::string name = program::name(instructions_[i].opcode);
      auto found =
          std::find_if(operations.begin(), operations.end(), [&](const Bar& b) { return b.name == name; });
      if (found == operations.end()) found = operations.insert(found, {name, 0, 0});
      found->seconds += seconds(i);
    }
    for (size_t k = 0; k < program::kWorkKindCount; ++k)
      kernels.push_back({program::name(static_cast<program::WorkKind>(k)),
                         entry_.reading.work.limbs[k] * shown_.kernels.seconds[k], 0});
    for (const program::BlockFigures& block : entry_.reading.blocks)
      blocks.push_back({named(block.block), block.seconds, colours_.at(part_of(block.block))});
    sort(operations), sort(kernels), sort(parts);
    return bars("part", parts) + "<div class=\"two\">" + bars("operation", operations) +
           bars("kernel", kernels) + "</div>" +
           folded(counted(blocks.size(), "block"), blocks.size() <= kMostShown, bars("block", blocks));
  }

  static std::string named(const std::string& block) { return block.empty() ? "outside blocks" : block; }

  static std::string folded(const std::string& summary, bool open, const std::string& content) {
    return std::string("<details") + (open ? " open>" : ">") + html_tagged("summary", summary) + content +
           "</details>\n";
  }

  // Levels of results as columns from 0 up, in rows like lines of a text. Where instructions share a column, the
  // lowest level is in full colour and the highest pale.
  std::string levels() const {
    const size_t rows = std::clamp<size_t>(instructions_.size() / kRowInstructions + 1, 1, kMostRows);
    const size_t in_row = (instructions_.size() + rows - 1) / rows;
    const size_t step = (in_row + kMostColumns - 1) / kMostColumns;
    int highest = std::max<int>(1, shown_.program.context->compute_level());
    for (const ckks::Level level : plan_.level) highest = std::max<int>(highest, level);
    const double plot = rows == 1 ? 200 : 110, row_height = kHead + plot + kFoot;
    const double height = static_cast<double>(rows) * row_height + kStrip;
    const std::string heard = message("Levels of ", instructions_.size(), " instructions with ",
                                      plan_.bootstraps, " bootstraps, and the predicted time of each part");
    std::string out = "<svg class=\"program\" role=\"img\" aria-label=" + quoted(heard) + " viewBox=\"0 0 " +
                      at(kWidth) + " " + at(height) + "\">" + html_tagged("title", heard) + "\n";
    for (size_t row = 0; row < rows; ++row)
      draw_row(out, row * in_row, in_row, step, static_cast<double>(row) * row_height + kHead, plot, highest);
    draw_times(out, height - kStrip);
    out += "</svg>";
    std::string legend = "<p class=\"facts legend\">";
    for (size_t p = 0; p < std::min(parts_.size(), kMostShown); ++p)
      legend += "<span class=\"" + colour(p) + "\"><span class=\"chip\"></span>" +
                xml_escape(parts_[p].name) + "</span>&emsp; ";
    legend += "&#9679; a bootstrap";
    if (step > 1)
      legend += message(". A column holds ", step,
                        " instructions: the lowest of their levels in full colour, the ", "highest pale.");
    return wide("levels", out) + legend + "</p>\n";
  }

  // Instructions [begin, begin + count); the axis of levels goes from `top` down to top + plot.
  void draw_row(std::string& out, size_t begin, size_t count, size_t step, double top, double plot,
                int highest) const {
    const double lower = top + plot;
    const size_t end = std::min(begin + count, instructions_.size());
    const auto x_of = [&](double i) {
      return kLeft +
             (i - static_cast<double>(begin)) / static_cast<double>(count) * (kWidth - kLeft - kRight);
    };
    const auto place = [&](size_t i) { return x_of(static_cast<double>(i)); };
    const auto y_of = [&](double level) { return lower - level / highest * plot; };
    // The part of a run that is in this row.
    const auto visit = [&](const std::vector<Run>& runs, const auto& each) {
      for (const Run& run : runs)
        if (run.first < end && run.end > begin) each(run, std::max(run.first, begin), std::min(run.end, end));
    };
    visit(layers_, [&](const Run& layer, size_t first, size_t last) {
      const double from = place(first), width = place(last) - from;
      if (layer.colour % 2 == 0) out += rectangle(from, top - 14, width, plot + 14, "odd");
      if (6 * static_cast<double>(layer.block.size()) < width)
        out += text(from + width / 2, top - 20, "middle", layer.block);
    });
    for (const double tick : axis_ticks(0, highest, false, 4)) {
      out += "<line class=\"line\" x1=\"" + at(kLeft) + "\" x2=\"" + at(place(end)) + "\" y1=\"" +
             at(y_of(tick)) + "\" y2=\"" + at(y_of(tick)) + "\"/>\n" +
             text(kLeft - 5, y_of(tick) + 4, "end", whole(tick));
    }
    for (const double tick : axis_ticks(static_cast<double>(begin), static_cast<double>(end), false))
      out += text(x_of(tick), lower + 14, "middle", whole(tick));
    visit(runs_, [&](const Run& run, size_t first, size_t last) {
      std::string high, low;
      for (size_t i = first; i < last; i += step) {
        int most = 0, least = highest;
        for (size_t k = i; k < std::min(i + step, last); ++k)
          for (const program::Value result : instructions_[k].results)
            most = std::max<int>(most, level(result)), least = std::min<int>(least, level(result));
        const std::string to = "H" + at(place(std::min(i + step, last)));
        high += "V" + at(y_of(most)) + to;
        low += "V" + at(y_of(std::min(least, most))) + to;
      }
      const std::string from = "M" + at(place(first)) + " " + at(lower), close = "V" + at(lower) + "Z\"/>";
      out += "<g class=\"" + colour(run.colour) + "\">" +
             html_tagged("title", message(run.block, ": instructions ", run.first, " to ", run.end - 1, ", ",
                                          cost_text(run.seconds)));
      if (step > 1) out += "<path class=\"high\" d=\"" + from + high + close;
      out += "<path class=\"low\" d=\"" + from + low + close + "</g>\n";
    });
    for (size_t i = begin; i < end; ++i) {
      if (instructions_[i].opcode != Opcode::kBootstrap) continue;
      const std::string x = at(x_of(static_cast<double>(i) + 0.5));
      out += "<g>" +
             html_tagged("title", message("bootstrap ", i, ": ", instructions_[i].label, ", ",
                                          cost_text(seconds(i)))) +
             "<line class=\"boot\" x1=\"" + x + "\" x2=\"" + x + "\" y1=\"" + at(top - 6) + "\" y2=\"" +
             at(lower) + "\"/><circle class=\"peak\" cx=\"" + x + "\" cy=\"" + at(top - 8) +
             "\" r=\"2.5\"/></g>\n";
    }
  }

  // One strip: where the time goes, in the order of the program.
  void draw_times(std::string& out, double top) const {
    double time = 0;
    const auto place = [&](double seconds) { return kLeft + share(seconds) * (kWidth - kLeft - kRight); };
    out += text(kLeft, top + 12, "start", "the same in time: " + seconds_text(entry_.reading.seconds));
    for (const Run& run : runs_) {
      out += "<g class=\"" + colour(run.colour) + "\">" +
             html_tagged("title", run.block + ": " + cost_text(run.seconds)) +
             rectangle(place(time), top + 20, place(time + run.seconds) - place(time), 22, "time") + "</g>\n";
      time += run.seconds;
    }
  }

  static std::string rectangle(double x, double y, double width, double height, const char* style) {
    return "<rect x=\"" + at(x) + "\" y=\"" + at(y) + "\" width=\"" + at(width) + "\" height=\"" +
           at(height) + "\" class=\"" + style + "\"/>\n";
  }
  static std::string text(double x, double y, const char* anchor, const std::string& what) {
    return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\">" +
           xml_escape(what) + "</text>\n";
  }
  static std::string whole(double number) { return format("%.0f", number + 0.0); }  // no "-0"

  std::string keys() const {
    double most = 0;
    for (const auto& [level, figures] : entry_.reading.keys_by_level) most = std::max(most, figures.bytes);
    std::string out =
        "<table class=\"bars c0\"><tr><th>level</th><th></th><th>keys</th><th>bytes</th></tr>\n";
    for (const auto& [level, figures] : entry_.reading.keys_by_level)
      out += "<tr>" + html_tagged("td", std::to_string(int{level})) + "<td>" + bar(figures.bytes / most) +
             "</td>" + html_tagged("td", std::to_string(figures.count)) +
             html_tagged("td", bytes_text(figures.bytes)) + "</tr>\n";
    return out + "</table>\n";
  }

  std::string errors() const {
    SvgFigure figure("Predicted error of re and im of a slot");
    SvgPanel& panel = figure.panel("", "instruction", "log2 of the standard deviation");
    for (const Run& layer : layers_)
      panel.band(layer.block, static_cast<double>(layer.first), static_cast<double>(layer.end));
    PlotPoints points;
    for (size_t i = 0; i < instructions_.size(); ++i) {
      double worst = 0;
      for (const program::Value result : instructions_[i].results)
        worst = std::max(worst, entry_.predicted_errors[static_cast<size_t>(result.id)]);
      for (const size_t x : {i, i + 1})
        points.emplace_back(static_cast<double>(x), worst > 0 ? std::log2(worst) : std::nan(""));
    }
    panel.line("predicted", std::move(points));
    return wide("errors", figure.text());
  }

  std::string ranges() const {
    const bool observed = !entry_.observed_ranges.empty();
    const std::vector<program::RangeCheck>& checks = plan_.program.checks;
    size_t beyond = 0;
    std::string rows;
    for (size_t c = 0; c < checks.size(); ++c) {
      const size_t made_by = made_by_[static_cast<size_t>(checks[c].value.id)];
      rows +=
          "<tr>" + html_tagged("td", std::to_string(made_by)) +
          html_tagged("td", program::block_of(instructions_[made_by].label, 2)) +
          html_tagged("td", checks[c].what) +
          html_tagged("td", "[" + format("%.4g", checks[c].lo) + ", " + format("%.4g", checks[c].hi) + "]");
      if (observed) {
        const double lo = entry_.observed_ranges[2 * c], hi = entry_.observed_ranges[2 * c + 1];
        const bool inside = lo >= checks[c].lo && hi <= checks[c].hi;
        beyond += !inside;
        const double width = checks[c].hi - checks[c].lo;
        const auto place = [&](double x) {
          return width > 0 && std::isfinite(width) ? std::clamp(100 * (x - checks[c].lo) / width, 0.0, 100.0)
                                                   : 0;
        };
        rows +=
            html_tagged("td", (inside ? "" : "beyond: ") + format("%.4g", lo) + " to " + format("%.4g", hi)) +
            "<td><span class=\"track " + (inside ? "c2" : "c1") + "\"><i style=\"left:" + at(place(lo)) +
            "%;width:" + at(place(hi) - place(lo)) + "%\"></i></span></td>";
      }
      rows += "</tr>\n";
    }
    const std::string table =
        std::string("<table class=\"rows\"><tr><th></th><th>block</th><th>value</th><th>interval</th>") +
        (observed ? "<th>observed</th><th></th>" : "") + "</tr>\n" + rows + "</table>\n";
    const std::string summary = counted(checks.size(), "range") +
                                (observed ? message(", ", beyond, " observed beyond the interval") : "");
    return folded(summary, checks.size() <= kMostShown, wide("ranges", table));
  }

  std::string all() const {
    std::string out =
        "<div><input type=\"search\" placeholder=\"Search labels, operations and values\" "
        "aria-label=\"Search instructions\">\n";
    for (const Run& run : runs_) {
      const std::string name = named(run.block);
      out += "<details data-block=" + quoted(name) + "><summary class=\"" + colour(run.colour) +
             "\"><span class=\"chip\"></span>" + xml_escape(name) + "<small>" +
             xml_escape(counted(run.end - run.first, "instruction")) +
             (run.bootstraps > 0 ? ", " + counted(static_cast<size_t>(run.bootstraps), "bootstrap") : "") +
             ", " + cost_text(run.seconds) +
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

  // What is wider than a phone scrolls by itself.
  static std::string wide(const std::string& name, const std::string& content) {
    return "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=" + quoted(name) + ">" + content +
           "</div>\n";
  }

  const ShownProgram& shown_;
  const ShownEntry& entry_;
  const program::Plan& plan_;
  const std::vector<Instruction>& instructions_;
  std::vector<Run> runs_, layers_;
  std::vector<Bar> parts_;                 // in order of appearance
  std::map<std::string, size_t> colours_;  // places in parts_, by name
  std::vector<size_t> made_by_;            // by value id: the instruction
};

}  // namespace

std::string program_page(const ShownProgram& shown) {
  std::string body = kStyle + EntryPage::list(facts_of(shown));
  for (const ShownEntry& entry : shown.entries) body += EntryPage(shown, entry).html();
  return html_page(shown.name, body + kScript);
}

}  // namespace psm::cmd
