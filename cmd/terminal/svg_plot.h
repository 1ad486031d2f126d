// Line charts as SVG text: one or more panels, one below the other, each with axes, grid and legend.
//
//     SvgFigure figure("1/x");
//     SvgPanel& panel = figure.panel("relative error", "x", "error");
//     panel.y_log = true;
//     panel.line("measured", points);
//     panel.mark("a root", {0.5, 2.5});
//     panel.band("first half", 0, 2);
//     write_file(path, figure.text());
//
// Points that are not finite, or not positive on a logarithmic axis, interrupt their line. Every second line is dashed,
// so that two on top of each other are both visible. Colours suit colour-blind readers and the light or dark
// scheme. A curve has the same colour in every panel, by its name.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace psm::cmd {

using PlotPoints = std::vector<std::pair<double, double>>;

struct SvgPanel {
  std::string title = {}, x_label = {}, y_label = {};
  bool x_log = false, y_log = false;

  void line(std::string name, PlotPoints points) { lines.push_back({std::move(name), std::move(points)}); }
  // Thin vertical lines with one entry in the legend. Draws nothing without places.
  void mark(std::string name, std::vector<double> xs) { marks.push_back({std::move(name), std::move(xs)}); }
  // A part of the x axis. Every other band is shaded. Its name is above it if it fits. A band after another
  // of the same name extends that one.
  void band(const std::string& name, double from, double to) {
    if (bands.empty() || bands.back().name != name) bands.push_back({name, from, to});
    bands.back().to = to;
  }

  struct Line {
    std::string name;
    PlotPoints points;
  };
  std::vector<Line> lines = {};
  std::vector<std::pair<std::string, std::vector<double>>> marks = {};
  struct Band {
    std::string name;
    double from, to;
  };
  std::vector<Band> bands = {};
};

// Colours of curves by name, from 0.
using PlotColours = std::map<std::string, size_t>;

class SvgFigure {
 public:
  // Figures of one page may share `colours`, which must outlive them: text() adds those of new names.
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
