#include "cmd/terminal/html.h"

#include "cmd/terminal/svg_plot.h"

namespace psm::cmd {
namespace {

constexpr char kStyle[] =
    "body{font-family:sans-serif;color:#222;max-width:60em;margin:2em auto;padding:0 1em;line-height:1.4}"
    "table{border-collapse:collapse;margin:1em 0}th,td{padding:.2em .7em;border-bottom:1px solid #ddd;"
    "text-align:right}th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid #444}"
    "caption{text-align:left;font-weight:bold;padding:.3em 0}code{background:#f3f3f3;padding:.1em .3em}"
    ".facts{color:#555;font-size:90%}.maps td,.maps th{border:none;text-align:center}"
    ".maps img{width:9em;height:9em;border:1px solid "
    "#999;image-rendering:pixelated}svg{max-width:100%;height:auto}";

}  // namespace

std::string html_tagged(const char* tag, const std::string& text) {
  return std::string("<") + tag + ">" + xml_escape(text) + "</" + tag + ">";
}

std::string html_of(const Table& table, const std::string& title) {
  std::string out = "<table>" + html_tagged("caption", title) + "\n";
  for (const std::vector<std::string>& row : table.rows()) {
    const char* tag = &row == &table.rows().front() ? "th" : "td";
    out += "<tr>";
    for (const std::string& cell : row) out += html_tagged(tag, cell);
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

std::string html_page(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">" + html_tagged("title", title) +
         "\n<style>" + kStyle + "</style></head><body>\n" + html_tagged("h1", title) + "\n" + body +
         "</body></html>\n";
}

}  // namespace psm::cmd
