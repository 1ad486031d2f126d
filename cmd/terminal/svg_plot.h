// Line charts as SVG text: one or more panels under each other, each with its axes, grid and legend.
//
//     SvgFigure figure("1/x");
//     SvgPanel& panel = figure.panel("relative error", "x", "error");
//     panel.y_log = true;
//     panel.line("measured", points);
//     panel.level("proven bound", 1e-4);
//     panel.mark("a root", {0.5, 2.5});
//     panel.band("first half", 0, 2);
//     write_file(path, figure.text());
//
// Points that are not finite, or not positive on a logarithmic axis, interrupt their line. Where a line lies on an
// earlier one it is dashed, so that both are seen. Colours are chosen to stay apart for colour-blind readers, and follow
// the reader's light or dark scheme; a curve has its colour by its name, in every panel.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace psm::cmd {

using PlotPoints = std::vector<std::pair<double, double>>;

// Returns the line that holds each value (x, y) until x + 1; there is one value for each whole x.
PlotPoints held(const PlotPoints& values);

struct SvgPanel {
  std::string title, x_label, y_label;
  bool x_log = false, y_log = false;

  void line(std::string name, PlotPoints points) { lines.push_back({std::move(name), std::move(points)}); }
  // A dashed horizontal line.
  void level(std::string name, double y) { levels.push_back({std::move(name), y}); }

  // Thin vertical lines, one entry in the legend; nothing without places.
  void mark(std::string name, std::vector<double> xs) { marks.push_back({std::move(name), std::move(xs)}); }
  // A part of the x axis: every other one is shaded, and named above where its name fits. One that follows another of
  // its name makes that longer.
  void band(const std::string& name, double from, double to) {
    if (bands.empty() || bands.back().name != name) bands.push_back({name, from, to});
    bands.back().to = to;
  }

  struct Line {
    std::string name;
    PlotPoints points;
  };
  std::vector<Line> lines;
  std::vector<std::pair<std::string, double>> levels;
  std::vector<std::pair<std::string, std::vector<double>>> marks;
  struct Band {
    std::string name;
    double from, to;
  };
  std::vector<Band> bands;
};

// Colours of curves, by name.
class PlotColours {
 public:
  // Numbers from 0 for all lines and levels of a panel. A name that another panel had before keeps its number; a new
  // one gets that which is rarest in this panel, and of those the rarest in all.
  const std::map<std::string, size_t>& of(const SvgPanel& panel);

 private:
  std::map<std::string, size_t> numbers_;
};

class SvgFigure {
 public:
  // Figures of one page may share `colours`, which then outlive them.
  explicit SvgFigure(std::string title, PlotColours* colours = nullptr)
      : title_(std::move(title)), colours_(colours) {}
  // The reference stays valid while the figure lives.
  SvgPanel& panel(std::string title, std::string x_label, std::string y_label);
  std::string text() const;

 private:
  std::string title_;
  PlotColours* colours_;
  std::deque<SvgPanel> panels_;
};

// Text for XML and HTML, between tags or in a quoted attribute.
std::string xml_escape(const std::string& text);

// Round positions for the ticks of an axis: at most about `wanted` of them within [lo, hi]; on a logarithmic
// axis powers of ten.
std::vector<double> axis_ticks(double lo, double hi, bool log, int wanted = 6);

}  // namespace psm::cmd
