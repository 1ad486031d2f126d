#include "cmd/study/report/page.h"

#include "cmd/terminal/html.h"
#include "cmd/terminal/svg_plot.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

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
  out += text("html");
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
