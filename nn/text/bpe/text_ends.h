// What stands at the ends of a text.
#pragma once

#include <optional>
#include <string_view>

namespace psm::nn {

// The token that ends a text, wherever a vocabulary has one of this name.
inline constexpr const char* kEndOfText = "<|endoftext|>";

struct TextEnds {
  std::optional<int> start, end;
  bool end_is_added = false;  // by the `tokenizers` library's encode(), as it adds `start`

  // What a special token's name says: <s> begins a text, </s> and <|endoftext|> end one; an end that goes with
  // a beginning is added with it.
  void take(std::string_view name, int id) {
    if (name == "<s>") start = id;
    if (name == "</s>" || name == kEndOfText) end = id;
    end_is_added = start.has_value();
  }
};

}  // namespace psm::nn
