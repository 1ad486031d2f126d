// The lines of a text.
#pragma once

#include <string_view>
#include <vector>

namespace psm::nn {

// Each without its end, "\n" or "\r\n"; the views lie in `text`. What follows the last end is a line unless
// it is empty.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace psm::nn
