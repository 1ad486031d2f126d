// Pieces of the HTML pages that commands write. Each page is one file that contains everything and follows
// the reader's light or dark scheme.
#pragma once

#include <string>

#include "cmd/terminal/figures.h"

namespace psm::cmd {

std::string html_tagged(const char* tag, const std::string& text);  // the text escaped
// Content that may be wider than a phone. It scrolls in a box of its own with this title.
std::string html_wide(const std::string& title, const std::string& content);
std::string html_of(const Table& table, const std::string& title);
// Names and values, as cards or as lines.
std::string html_cards(const Facts& facts);
std::string html_lines(const Facts& facts);
// The whole page; `body` is HTML and begins after the heading.
std::string html_page(const std::string& title, const std::string& body);

}  // namespace psm::cmd
