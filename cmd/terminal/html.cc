#include "cmd/terminal/html.h"

#include "cmd/terminal/svg_plot.h"

namespace psm::cmd {
namespace {

constexpr char kPageStyle[] =
    ":root{color-scheme:light dark}"
    ":root{--ink:#222;--paper:#fff;--faint:#555;--line:#ddd;--rule:#444;--box:#f3f3f3}"
    "@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#121212;--faint:#aaa;--line:#444;--rule:#999;"
    "--box:#262626}a{color:#7db8ff}}"
    "body{font-family:sans-serif;color:var(--ink);background:var(--paper);max-width:60em;margin:2em auto;"
    "padding:0 1em;line-height:1.4;overflow-wrap:break-word}.wide{overflow-x:auto;margin:1em 0}"
    "table{border-collapse:collapse}th,td{padding:.2em .7em;border-bottom:1px solid var(--line);"
    "text-align:right}th:first-child,td:first-child,.l{text-align:left}th{border-bottom:2px solid "
    "var(--rule)}"
    "caption{text-align:left;font-weight:bold;padding:.3em 0}"
    "code{background:var(--box);padding:.1em .3em;overflow-wrap:anywhere}"
    ".facts{color:var(--faint);font-size:90%}.maps td,.maps th{border:none;text-align:center}"
    ".maps img{width:9em;height:9em;border:1px solid #999;image-rendering:pixelated}"
    ".summary{display:flex;flex-wrap:wrap;gap:1em}.summary div{background:var(--box);padding:.5em 1em}"
    ".lines div{display:flex;gap:.5em;margin-bottom:.2em}.lines dt{flex:0 0 9em;white-space:pre-wrap}"
    ".lines dd{margin:0;overflow-wrap:anywhere}"
    ".summary dt{color:var(--faint);font-size:90%}.summary dd{margin:0;font-size:130%;font-weight:bold}"
    "svg{max-width:100%;min-width:38em;height:auto}";

std::string list_of(const char* style, const Facts& facts) {
  std::string out = std::string("<dl class=\"") + style + "\">\n";
  for (const auto& [name, value] : facts)
    out += "<div>" + html_tagged("dt", name) + html_tagged("dd", value) + "</div>\n";
  return out + "</dl>\n";
}

}  // namespace

std::string html_tagged(const char* tag, const std::string& text) {
  return std::string("<") + tag + ">" + xml_escape(text) + "</" + tag + ">";
}

std::string html_wide(const std::string& title, const std::string& content) {
  return "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"" + xml_escape(title) + "\">" +
         content + "</div>\n";
}

std::string html_of(const Table& table, const std::string& title) {
  std::string out = "<table>" + html_tagged("caption", title) + "<thead>\n";
  for (const std::vector<std::string>& row : table.rows()) {
    const bool heading = &row == &table.rows().front();
    out += "<tr>";
    for (size_t c = 0; c < row.size(); ++c)
      out += std::string(heading ? "<th" : "<td") + (c > 0 && table.left(c) ? " class=\"l\">" : ">") +
             xml_escape(row[c]) + (heading ? "</th>" : "</td>");
    out += heading ? "</tr></thead><tbody>\n" : "</tr>\n";
  }
  return html_wide(title, out + "</tbody></table>");
}

std::string html_cards(const Facts& facts) { return list_of("summary", facts); }

std::string html_lines(const Facts& facts) { return list_of("facts lines", facts); }

std::string html_page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">" +
         html_tagged("title", title) + "\n<style>" + kPageStyle + "</style></head><body>\n" +
         html_tagged("h1", title) + "\n" + body + "</body></html>\n";
}

}  // namespace psm::cmd
