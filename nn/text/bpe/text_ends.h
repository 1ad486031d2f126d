// The meaning of special tokens' names for the ends of a text.
#pragma once

#include <string_view>

#include "nn/text/bpe/bpe_spec.h"

namespace psm::nn {

// The name of a token that ends a text.
inline constexpr const char* kEndOfText = "<|endoftext|>";

// <s> and [CLS] begin a text; </s>, [SEP] and <|endoftext|> end one. An end is added to texts if a beginning is.
inline void take_end(TextEnds& ends, std::string_view name, int id) {
  if (name == "<s>" || name == "[CLS]") ends.start = id;
  if (name == "</s>" || name == "[SEP]" || name == kEndOfText) ends.end = id;
  ends.end_is_added = ends.start.has_value();
}

}  // namespace psm::nn
