// Reads JSON (RFC 8259): a strict parser with limits, for text that may be hostile.
#pragma once

#include <cstdint>
#include <string_view>

#include "ckks/base/files/json.h"

namespace psm {

// A parsed value takes at most three times the text's bytes and 256 bytes for each value in it, also while it is parsed.
struct JsonLimits {
  uint64_t max_bytes = uint64_t{4} << 20;
  int max_depth = 32;
  uint64_t max_values = uint64_t{1} << 17;
};

// Throws Error "WHAT: not valid JSON at byte K: ...", or "WHAT ends early ..." if the text is cut off.
// Refuses duplicate members, trailing text and strings that are not UTF-8.
Json parse_json(std::string_view text, std::string_view what, JsonLimits limits = {});

}  // namespace psm
