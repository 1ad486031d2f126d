#include "cmd/terminal/svg_plot.h"

#include <limits>

#include "ckks/base/testing/check.h"

namespace psm::cmd {
namespace {

TEST_CASE("ticks are round numbers inside the axis") {
  CHECK(axis_ticks(0, 10, false, 5) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(axis_ticks(-0.9, 0.9, false, 4) == std::vector<double>{-0.5, 0, 0.5});
  CHECK(axis_ticks(5, 5, false) == std::vector<double>{5});
  const std::vector<double> decades = axis_ticks(1e-3, 1e2, true, 6);
  REQUIRE(decades.size() == 6);
  CHECK(decades.front() == doctest::Approx(1e-3));
  CHECK(decades.back() == doctest::Approx(1e2));
  CHECK(axis_ticks(1e-12, 1e12, true, 6).size() <= 7);
  CHECK(axis_ticks(2, 8, true, 6).size() >= 3);
}

TEST_CASE("marks and bands are drawn at their places, and a name that does not fit is left out") {
  SvgFigure figure("");
  SvgPanel& panel = figure.panel("", "x", "y");
  panel.line("f", {{0, 0}, {100, 1}});
  panel.mark("jumps", {25, 75});
  panel.mark("none", {});
  panel.band("wide", 0, 90);
  panel.band("narrow", 90, 91);
  const std::string text = figure.text();
  CHECK(count(text, "stroke-dasharray=\"2 3\"") == 2);
  CHECK(count(text, ">jumps<") == 1);
  CHECK(count(text, ">none<") == 0);
  CHECK(count(text, ">wide<") == 1);
  CHECK(count(text, ">narrow<") == 0);
  CHECK(count(text, "class=\"band\"") == 1);
}

TEST_CASE("a figure has its panels, lines and escaped names") {
  SvgFigure figure("a < b & c");
  SvgPanel& first = figure.panel("values", "x", "y");
  first.line("f", {{0, 0}, {1, 1}, {2, 4}});
  first.line("g", {{0, 1}, {2, 3}});
  SvgPanel& second = figure.panel("error", "x", "error");
  second.y_log = true;
  second.line("measured", {{0, 1e-3}, {1, 1e-5}});
  second.line("bound", {{0, 2e-3}, {1, 2e-3}});
  const std::string text = figure.text();
  CHECK(text.rfind("<svg", 0) == 0);
  CHECK(contains(text, "</svg>"));
  CHECK(count(text, "<path") == 4);
  // The second line of each panel, and its entry in the legend.
  CHECK(count(text, "stroke-dasharray") == 4);
  CHECK(contains(text, ">a &lt; b &amp; c</text>"));
  CHECK_FALSE(contains(text, "nan"));
}

TEST_CASE("a curve has the same colour in every panel, and the first six have different ones") {
  PlotColours colours;
  const auto draw = [&](const std::vector<std::string>& lines) {
    SvgFigure figure("", &colours);
    for (const std::string& name : lines) figure.panel("", "x", "y").line(name, {});
    figure.text();
  };
  draw({"a", "b", "c"});
  draw({"d", "b", "e", "f"});
  CHECK(colours == PlotColours{{"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}, {"e", 4}, {"f", 5}});
}

TEST_CASE("a figure has a name and a summary for who hears it, and colours for the dark") {
  SvgFigure figure("a < b");
  SvgPanel& panel = figure.panel("values", "x", "y");
  panel.line("f", {{0, 0}, {1, 1}});
  panel.line("g", {{0, 1}, {1, 2}});
  const std::string text = figure.text();
  CHECK(contains(text, "role=\"img\" aria-label=\"a &lt; b. values by x: f, g\""));
  CHECK(contains(text, "<title>a &lt; b</title>"));
  CHECK(contains(text, "prefers-color-scheme:dark"));
}

TEST_CASE("points that cannot be shown interrupt the line and leave no trace") {
  SvgFigure figure("gaps");
  SvgPanel& panel = figure.panel("", "", "");
  panel.y_log = true;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  panel.line("f", {{0, 1}, {1, 0}, {2, 1}, {3, nan}, {4, 2}, {5, 3}});
  const std::string text = figure.text();
  const size_t path = text.find("<path");
  const std::string drawn = text.substr(path, text.find("/>", path) - path);
  CHECK(count(drawn, "M") == 3);
  CHECK(count(drawn, "L") == 1);
  CHECK_FALSE(contains(text, "nan"));
  CHECK_FALSE(contains(text, "inf"));
}

TEST_CASE("a legend that is too long for a row goes on in the next one, and large numbers are grouped") {
  const auto rows = [](int lines) {
    SvgFigure figure("legend");
    SvgPanel& panel = figure.panel("", "x", "y");
    for (int n = 0; n < lines; ++n) panel.line("a name of some length", {{0, 0}, {40000, 1}});
    const std::string text = figure.text();
    CHECK(contains(text, ">10,000<"));
    int found = 0;
    for (const char* y : {"y1=\"52.00\"", "y1=\"72.00\"", "y1=\"92.00\""})
      found += text.find("<line x1=\"84.00\" " + std::string(y) + " x2=\"108.00\"") != std::string::npos;
    return found;
  };
  CHECK(rows(3) == 1);
  CHECK(rows(4) == 2);
  CHECK(rows(7) == 3);
}

TEST_CASE("constant and empty data still give a figure") {
  SvgFigure figure("flat");
  figure.panel("constant", "x", "y").line("f", {{1, 5}, {1, 5}});
  figure.panel("empty", "x", "y");
  const std::string text = figure.text();
  CHECK_FALSE(contains(text, "nan"));
  CHECK_FALSE(contains(text, "inf"));
}

}  // namespace
}  // namespace psm::cmd
