// What stands at the ends of a text.
#pragma once

#include <optional>

namespace psm::nn {

// The token that ends a text, wherever a vocabulary has one of this name.
inline constexpr const char* kEndOfText = "<|endoftext|>";

struct TextEnds {
  std::optional<int> start, end;
  bool end_is_added = false;  // by the `tokenizers` library's encode(), as it adds `start`
};

}  // namespace psm::nn
