// What the names of special tokens say of the ends of a text.
#pragma once

#include <string_view>

#include "nn/text/bpe/bpe_spec.h"

namespace psm::nn {

// The token that ends a text, wherever a vocabulary has one of this name.
inline constexpr const char* kEndOfText = "<|endoftext|>";

// <s> begins a text, </s> and <|endoftext|> end one; an end that goes with a beginning is added with it.
inline void take_end(TextEnds& ends, std::string_view name, int id) {
  if (name == "<s>") ends.start = id;
  if (name == "</s>" || name == kEndOfText) ends.end = id;
  ends.end_is_added = ends.start.has_value();
}

}  // namespace psm::nn
