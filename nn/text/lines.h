// The lines of a text.
#pragma once

#include <string_view>
#include <vector>

namespace psm::nn {

// Returns the lines without their ends, "\n" or "\r\n", as views into `text`. Text after the last end is a
// line unless it is empty.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace psm::nn
