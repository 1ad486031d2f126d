#include "cmd/study/report/page.h"

#include "ckks/base/error.h"
#include "cmd/study/report/heat_map.h"
#include "cmd/study/report/result.h"
#include "cmd/terminal/svg_plot.h"
#include "cmd/terminal/table.h"

namespace psm {
namespace {

constexpr char kStyle[] =
    "body{font-family:sans-serif;color:#222;max-width:60em;margin:2em auto;padding:0 1em;line-height:1.4}"
    "table{border-collapse:collapse;margin:1em 0}th,td{padding:.2em .7em;border-bottom:1px solid #ddd;"
    "text-align:right}th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid #444}"
    "caption{text-align:left;font-weight:bold;padding:.3em 0}code{background:#f3f3f3;padding:.1em .3em}"
    ".facts{color:#555;font-size:90%}.maps td,.maps th{border:none;text-align:center}"
    ".maps img{width:9em;height:9em;border:1px solid "
    "#999;image-rendering:pixelated}svg{max-width:100%;height:auto}";

std::string tagged(const char* tag, const std::string& text) {
  return std::string("<") + tag + ">" + xml_escape(text) + "</" + tag + ">";
}

std::string html_of(const Table& table, const std::string& title) {
  std::string out = "<table>" + tagged("caption", title) + "\n";
  for (const std::vector<std::string>& row : table.rows()) {
    const char* tag = &row == &table.rows().front() ? "th" : "td";
    out += "<tr>";
    for (const std::string& cell : row) out += tagged(tag, cell);
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string html_of(const ImageGrid& grid, const std::string& title) {
  std::string out = "<table class=\"maps\">" + tagged("caption", title) + "\n<tr><th></th>";
  for (const std::string& column : grid.columns) out += tagged("th", column);
  out += "</tr>\n";
  for (const ImageGrid::Row& row : grid.rows) {
    out += "<tr>" + tagged("th", row.name);
    for (size_t c = 0; c < row.images.size(); ++c)
      out += "<td><img alt=\"" + xml_escape(row.name + ", " + grid.columns[c]) + "\" src=\"" +
             bitmap_uri(row.images[c]) + "\"></td>";
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string html_of(const Json& item, const std::string& what) {
  const std::string& kind = item.at("kind", what).string(what + ": kind");
  if (kind == "note") return tagged("p", item.at("text", what).string(what + ": text")) + "\n";
  if (kind == "plot") {
    SvgPanel panel = plot_from(item, what);
    SvgFigure figure(panel.title);
    SvgPanel& drawn = figure.panel("", panel.x_label, panel.y_label);
    panel.title.clear();
    drawn = std::move(panel);
    return figure.text();
  }
  const std::string& title = item.at("title", what).string(what + ": title");
  if (kind == "table") return html_of(table_from(item, what), title);
  if (kind == "images") return html_of(images_from(item, what), title);
  throw Error(message(what, ": there is no item '", kind,
                      "'; the file is of another version, run the experiment again"));
}

}  // namespace

std::string study_section(const Json& document, const std::string& what) {
  const auto text = [&](const char* member) -> const std::string& {
    return document.at(member, what).string(what + ": " + member);
  };
  const auto number = [&](const char* member) {
    return document.at(member, what).number(what + ": " + member);
  };
  std::string out =
      "<section id=\"" + xml_escape(text("name")) + "\">\n" + tagged("h2", text("title")) + "\n";
  out += tagged("p", "In the paper: " + text("paper")) + "\n";
  out += tagged("p", "Scaled down: " + text("scaled_down")) + "\n";
  out += "<p>" + tagged("code", text("command")) + "</p>\n";
  if (!document.at("finished", what).truth(what + ": finished"))
    return out + "<p>Not finished: the same command goes on where it was.</p>\n</section>\n";
  for (const Json& item : document.at("items", what).array(what + ": items")) out += html_of(item, what);
  out += "<p class=\"facts\">" +
         std::string(number("seeds") == 1 ? "Seed 1" : "Seeds 1 to " + format("%.0f", number("seeds"))) +
         ", " + seconds_text(number("seconds")) + " on " + format("%.0f", number("threads")) +
         " threads of " + xml_escape(text("processor"));
  if (!text("commit").empty()) out += ", commit " + xml_escape(text("commit"));
  return out + ".</p>\n</section>\n";
}

std::string study_page(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>PowerSoftmax: the model "
      "study</title>\n"
      "<style>" +
      std::string(kStyle) + "</style></head><body>\n<h1>PowerSoftmax: the model study</h1>\n<p>";
  for (const auto& [name, section] : sections)
    out += "<a href=\"#" + xml_escape(name) + "\">" + xml_escape(name) + "</a> ";
  out += "</p>\n";
  for (const auto& [name, section] : sections) out += section;
  return out + "</body></html>\n";
}

}  // namespace psm
