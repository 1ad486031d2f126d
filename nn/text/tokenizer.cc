#include "nn/text/tokenizer.h"

#include <charconv>

namespace psm::nn {

int named_byte(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return -1;
  int byte = -1;
  const char* end = text.data() + 5;
  return std::from_chars(text.data() + 3, end, byte, 16).ptr == end ? byte : -1;
}

}  // namespace psm::nn
