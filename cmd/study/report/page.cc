#include "cmd/study/report/page.h"

#include "ckks/base/error.h"
#include "cmd/study/report/heat_map.h"
#include "cmd/study/report/result.h"
#include "cmd/terminal/html.h"
#include "cmd/terminal/svg_plot.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

std::string html_of(const ImageGrid& grid, const std::string& title) {
  std::string out = "<table class=\"maps\">" + html_tagged("caption", title) + "\n<tr><th></th>";
  for (const std::string& column : grid.columns) out += html_tagged("th", column);
  out += "</tr>\n";
  for (const ImageGrid::Row& row : grid.rows) {
    out += "<tr>" + html_tagged("th", row.name);
    for (size_t c = 0; c < row.images.size(); ++c)
      out += "<td><img alt=\"" + xml_escape(row.name + ", " + grid.columns[c]) + "\" src=\"" +
             bitmap_uri(row.images[c]) + "\"></td>";
    out += "</tr>\n";
  }
  return html_wide(title, out + "</table>");
}

std::string html_of(const Json& item, const std::string& what, PlotColours& colours) {
  const std::string& kind = item.at("kind", what).string(what + ": kind");
  if (kind == "note") return html_tagged("p", item.at("text", what).string(what + ": text")) + "\n";
  if (kind == "plot") {
    SvgPanel panel = plot_from(item, what);
    const std::string title = panel.title;
    SvgFigure figure(title, &colours);
    SvgPanel& drawn = figure.panel("", panel.x_label, panel.y_label);
    panel.title.clear();
    drawn = std::move(panel);
    return html_wide(title, figure.text());
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
      "<section id=\"" + xml_escape(text("name")) + "\">\n" + html_tagged("h2", text("title")) + "\n";
  out += html_tagged("p", "In the paper: " + text("paper")) + "\n";
  out += html_tagged("p", "Scaled down: " + text("scaled_down")) + "\n";
  out += "<p>" + html_tagged("code", text("command")) + "</p>\n";
  if (!document.at("finished", what).truth(what + ": finished"))
    return out + "<p>Not finished: the same command goes on where it was.</p>\n</section>\n";
  PlotColours colours;  // a model has its own throughout the section
  for (const Json& item : document.at("items", what).array(what + ": items"))
    out += html_of(item, what, colours);
  out += "<p class=\"facts\">" +
         std::string(number("seeds") == 1 ? "Seed 1" : "Seeds 1 to " + format("%.0f", number("seeds"))) +
         ", " + seconds_text(number("seconds")) + " on " + format("%.0f", number("threads")) +
         " threads of " + xml_escape(text("processor"));
  if (!text("commit").empty()) out += ", commit " + xml_escape(text("commit"));
  return out + ".</p>\n</section>\n";
}

std::string study_page(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string body = "<p>";
  for (const auto& [name, section] : sections)
    body += "<a href=\"#" + xml_escape(name) + "\">" + xml_escape(name) + "</a> ";
  body += "</p>\n";
  for (const auto& [name, section] : sections) body += section;
  return html_page("PowerSoftmax: the model study", body);
}

}  // namespace psm::cmd
