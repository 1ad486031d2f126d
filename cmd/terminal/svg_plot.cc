#include "cmd/terminal/svg_plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr double kWidth = 760, kPanelHeight = 330;
constexpr double kLeft = 84, kRight = 24, kBottom = 50, kTitle = 40;
constexpr double kPanelTitle = 26, kLegendRow = 20, kTop = 12;  // from a panel's upper end to its axes
constexpr double kLetter = 6.7;                                 // of text in a legend
constexpr double kLegendLine = 48;                              // and what stands before it
constexpr double kStroke = 1.6;
constexpr size_t kColours = 6;
constexpr const char* kDashes = " stroke-dasharray=\"6 4\"";

// Curves have the classes k0 to k5.
constexpr char kPlotStyle[] =
    ":root{color-scheme:light dark}text{font-family:sans-serif;fill:#222}"
    ".title{font-size:17px;font-weight:bold}"
    ".panel{font-size:14px;font-weight:bold}.label{font-size:13px}.tick{font-size:12px}"
    ".paper{fill:#fff}.band{fill:#f4f4f4}.grid{stroke:#ddd}.frame{stroke:#444}.mark{stroke:#555}"
    ".k0{stroke:#0072b2}.k1{stroke:#d55e00}.k2{stroke:#009e73}"
    ".k3{stroke:#cc79a7}.k4{stroke:#e69f00}.k5{stroke:#56b4e9}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}"
    ".paper{fill:#121212}.band{fill:#222}.grid{stroke:#333}.frame{stroke:#999}.mark{stroke:#aaa}"
    ".k0{stroke:#3d8bfd}.k1{stroke:#ff8c42}.k2{stroke:#2fc79a}"
    ".k3{stroke:#e29ac3}.k4{stroke:#f0b429}.k5{stroke:#9fd8ff}}";

std::string fixed(double value) { return format("%.2f", value); }

std::string tick_text(double value) {
  if (std::fabs(value) >= 1e4 && std::fabs(value) < 1e9 && value == std::round(value)) {
    std::string digits = std::to_string(std::llround(std::fabs(value)));
    for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
    return (value < 0 ? "-" : "") + digits;
  }
  return format("%.4g", std::fabs(value) < 1e-300 ? 0.0 : value);
}

// One axis: data to pixels.
struct Axis {
  double lo = 0, hi = 1;  // data, or its logarithm
  bool log = false;
  double from = 0, to = 1;  // pixels

  bool shows(double value) const { return std::isfinite(value) && (!log || value > 0); }
  double operator()(double value) const {
    return from + ((log ? std::log10(value) : value) - lo) / (hi - lo) * (to - from);
  }
};

Axis fit_axis(const std::vector<double>& values, bool log, double margin, double from, double to) {
  Axis axis{.lo = 0, .hi = 1, .log = log, .from = from, .to = to};
  double lo = std::numeric_limits<double>::infinity(), hi = -lo;
  for (const double value : values) {
    if (!axis.shows(value)) continue;
    lo = std::min(lo, log ? std::log10(value) : value);
    hi = std::max(hi, log ? std::log10(value) : value);
  }
  if (lo > hi) return axis;
  double space = margin * (hi - lo);
  if (hi - lo < 1e-12 * std::max(1.0, std::fabs(hi))) space = log ? 0.5 : std::max(0.5, 0.1 * std::fabs(hi));
  axis.lo = lo - space;
  axis.hi = hi + space;
  return axis;
}

void text_at(std::string& out, double x, double y, const char* style, const std::string& text) {
  out +=
      "<text x=\"" + fixed(x) + "\" y=\"" + fixed(y) + "\" " + style + ">" + xml_escape(text) + "</text>\n";
}

void segment(std::string& out, double x1, double y1, double x2, double y2, const char* style) {
  out += "<line x1=\"" + fixed(x1) + "\" y1=\"" + fixed(y1) + "\" x2=\"" + fixed(x2) + "\" y2=\"" +
         fixed(y2) + "\" " + style + "/>\n";
}

std::string class_of(size_t colour) { return "class=\"k" + std::to_string(colour) + "\""; }

void draw_line(std::string& out, const PlotPoints& points, const Axis& x, const Axis& y, size_t colour,
               bool dashed) {
  std::string path;
  bool pen_down = false;
  for (const auto& [px, py] : points) {
    const bool shown = x.shows(px) && y.shows(py);
    if (shown) path += (pen_down ? 'L' : 'M') + fixed(x(px)) + " " + fixed(y(py));
    pen_down = shown;
  }
  out += "<path d=\"" + path + "\" fill=\"none\" " + class_of(colour) + " stroke-width=\"" +
         tick_text(kStroke) + "\" stroke-linejoin=\"round\"" + (dashed ? kDashes : "") + "/>\n";
}

std::vector<std::string> legend_names(const SvgPanel& panel) {
  std::vector<std::string> names;
  for (const SvgPanel::Line& line : panel.lines) names.push_back(line.name);
  for (const auto& [name, xs] : panel.marks)
    if (!xs.empty()) names.push_back(name);
  return names;
}

void draw_panel(std::string& out, const SvgPanel& panel, double top, const PlotColours& colours) {
  const double left = kLeft, right = kWidth - kRight;
  const std::vector<std::string> legend = legend_names(panel);
  size_t longest = 0;
  for (const std::string& name : legend) longest = std::max(longest, name.size());
  const double cell = kLegendLine + kLetter * static_cast<double>(longest);
  const auto columns = std::max<size_t>(1, static_cast<size_t>((right - left) / cell));
  const auto legend_rows = static_cast<double>((legend.size() + columns - 1) / columns);
  const double legend_top = top + (panel.title.empty() ? 0 : kPanelTitle) + kTop;
  const double upper = legend_top + kLegendRow * std::max(1.0, legend_rows),
               lower = top + kPanelHeight - kBottom;
  std::vector<double> xs, ys;
  for (const SvgPanel::Line& line : panel.lines)
    for (const auto& [px, py] : line.points) {
      xs.push_back(px);
      ys.push_back(py);
    }
  const Axis x = fit_axis(xs, panel.x_log, 0, left, right), y = fit_axis(ys, panel.y_log, 0.06, lower, upper);

  text_at(out, left, top + 20, "class=\"panel\"", panel.title);
  for (size_t b = 0; b < panel.bands.size(); ++b) {
    const SvgPanel::Band& band = panel.bands[b];
    const double from = std::clamp(x(band.from), left, right), to = std::clamp(x(band.to), left, right);
    if (b % 2 == 0)
      out += "<rect x=\"" + fixed(from) + "\" y=\"" + fixed(upper) + "\" width=\"" + fixed(to - from) +
             "\" height=\"" + fixed(lower - upper) + "\" class=\"band\"/>\n";
    if (kLetter * static_cast<double>(band.name.size()) < to - from)
      text_at(out, (from + to) / 2, upper + 14, "class=\"tick\" text-anchor=\"middle\"", band.name);
  }
  const auto value_of = [](const Axis& axis, double end) { return axis.log ? std::pow(10.0, end) : end; };
  for (const double tick : axis_ticks(value_of(x, x.lo), value_of(x, x.hi), x.log)) {
    segment(out, x(tick), upper, x(tick), lower, "class=\"grid\"");
    text_at(out, x(tick), lower + 16, "class=\"tick\" text-anchor=\"middle\"", tick_text(tick));
  }
  for (const double tick : axis_ticks(value_of(y, y.lo), value_of(y, y.hi), y.log)) {
    segment(out, left, y(tick), right, y(tick), "class=\"grid\"");
    text_at(out, left - 6, y(tick) + 4, "class=\"tick\" text-anchor=\"end\"", tick_text(tick));
  }
  out += "<rect x=\"" + fixed(left) + "\" y=\"" + fixed(upper) + "\" width=\"" + fixed(right - left) +
         "\" height=\"" + fixed(lower - upper) + "\" fill=\"none\" class=\"frame\"/>\n";
  text_at(out, (left + right) / 2, lower + 36, "class=\"label\" text-anchor=\"middle\"", panel.x_label);
  const std::string turned = "class=\"label\" text-anchor=\"middle\" transform=\"rotate(-90 18 " +
                             fixed((upper + lower) / 2) + ")\"";
  text_at(out, 18, (upper + lower) / 2, turned.c_str(), panel.y_label);

  size_t index = 0;
  const auto legend_entry = [&](const std::string& colour, bool dashed) {
    const double at = left + cell * static_cast<double>(index % columns);
    const double y = legend_top + kLegendRow * static_cast<double>(index / columns);
    const std::string style = colour + " stroke-width=\"2\"" + (dashed ? kDashes : "");
    segment(out, at, y, at + 24, y, style.c_str());
    text_at(out, at + 30, y + 4, "class=\"tick\"", legend[index++]);
  };
  for (size_t i = 0; i < panel.lines.size(); ++i) {
    const size_t colour = colours.at(panel.lines[i].name);
    const bool dashed = i % 2 == 1;  // two on top of each other are both seen
    draw_line(out, panel.lines[i].points, x, y, colour, dashed);
    legend_entry(class_of(colour), dashed);
  }
  for (const auto& [name, xs] : panel.marks) {
    if (xs.empty()) continue;
    const char* style = "class=\"mark\" stroke-width=\"1.2\" stroke-dasharray=\"2 3\"";
    for (const double at : xs)
      if (x.shows(at)) segment(out, x(at), upper, x(at), lower, style);
    legend_entry("class=\"mark\"", true);
  }
}

// For who hears the figure: its title, and what its panels show.
std::string heard(const std::string& title, const std::deque<SvgPanel>& panels) {
  std::string text = title;
  for (const SvgPanel& panel : panels) {
    text += ". " + (panel.title.empty() ? panel.y_label : panel.title) + " by " + panel.x_label;
    for (const SvgPanel::Line& line : panel.lines)
      text += (&line == &panel.lines.front() ? ": " : ", ") + line.name;
  }
  return text;
}

}  // namespace

SvgPanel& SvgFigure::panel(std::string title, std::string x_label, std::string y_label) {
  return panels_.emplace_back(
      SvgPanel{.title = std::move(title), .x_label = std::move(x_label), .y_label = std::move(y_label)});
}

std::string SvgFigure::text() const {
  const double height = kTitle + kPanelHeight * static_cast<double>(panels_.size());
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + fixed(kWidth) + " " +
                    fixed(height) + "\" width=\"" + fixed(kWidth) + "\" height=\"" + fixed(height) +
                    "\" role=\"img\" aria-label=\"" + xml_escape(heard(title_, panels_)) + "\">\n<title>" +
                    xml_escape(title_) + "</title>\n<style>" + kPlotStyle +
                    "</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n";
  PlotColours own, &colours = colours_ != nullptr ? *colours_ : own;
  text_at(out, kLeft, 26, "class=\"title\"", title_);
  double top = kTitle;
  for (const SvgPanel& panel : panels_) {
    for (const SvgPanel::Line& line : panel.lines) colours.emplace(line.name, colours.size() % kColours);
    draw_panel(out, panel, top, colours);
    top += kPanelHeight;
  }
  return out + "</svg>\n";
}

std::string xml_escape(const std::string& text) {
  static const std::map<char, const char*> kEntities{
      {'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};
  std::string out;
  for (const char c : text) {
    const auto entity = kEntities.find(c);
    out += entity == kEntities.end() ? std::string(1, c) : entity->second;
  }
  return out;
}

std::vector<double> axis_ticks(double lo, double hi, bool log, int wanted) {
  PSM_CHECK(wanted >= 1 && lo <= hi, lo, " ", hi);
  std::vector<double> ticks;
  if (log) {
    const int first = static_cast<int>(std::ceil(std::log10(lo) - 1e-9));
    const int last = static_cast<int>(std::floor(std::log10(hi) + 1e-9));
    const int step = std::max(1, (last - first + wanted) / wanted);
    for (int power = first; power <= last; power += step) ticks.push_back(std::pow(10.0, power));
    if (ticks.size() >= 2) return ticks;
    ticks.clear();  // less than two decades: even ticks read better
  }
  const double rough = (hi - lo) / wanted;
  if (!(rough > 0)) return {lo};
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * decade;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * decade >= rough * (1 - 1e-9)) step = factor * decade;
  for (double k = std::ceil(lo / step - 1e-9); k * step <= hi + 1e-9 * step; ++k) ticks.push_back(k * step);
  return ticks;
}

}  // namespace psm::cmd
