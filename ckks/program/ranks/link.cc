#include "ckks/program/ranks/link.h"

#include <algorithm>
#include <cstring>

namespace psm::program {

Buffer words_of(std::string_view text) {
  Buffer words(1 + (text.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  words[words.size() - 1] = 0;
  words[0] = text.size();
  std::memcpy(words.data() + 1, text.data(), text.size());
  return words;
}

std::string text_of(const Buffer& words) {
  if (words.empty()) return {};
  const size_t room = (words.size() - 1) * sizeof(uint64_t);
  return {reinterpret_cast<const char*>(words.data() + 1), std::min<size_t>(words[0], room)};
}

}  // namespace psm::program
