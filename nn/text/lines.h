// The lines of a text.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace psm::nn {

// Returns the lines without their ends, "\n" or "\r\n", as views into `text`. Text after the last end is a
// line unless it is empty.
inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.push_back(line);
    begin = end + 1;
  }
  return lines;
}

}  // namespace psm::nn
