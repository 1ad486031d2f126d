#include "nn/testing/fuzz_safetensors.h"

#include <cstring>

#include "ckks/base/error.h"

namespace psm::nn {
namespace {

constexpr size_t kLengthBytes = 8;

// Behind the brace that closes the header, or 0.
size_t header_end(const std::string& file) {
  int depth = 0;
  bool in_string = false;
  for (size_t at = kLengthBytes; at < file.size(); ++at) {
    const char c = file[at];
    if (in_string && c == '\\') ++at;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '{') ++depth;
    if (c == '}' && --depth == 0) return at + 1;
  }
  return 0;
}

}  // namespace

std::string without_checksum(std::string file) {
  const size_t at = file.find("\"checksum\"");
  PSM_CHECK(at != std::string::npos);
  return file.replace(at, 10, "\"fuzzed\"  ");
}

std::vector<size_t> safetensors_marks(const std::string& file) {
  std::vector<size_t> marks{0};
  const size_t end = header_end(file);
  for (size_t at = kLengthBytes; at < end; ++at)
    if (std::strchr("{}[],:\"", file[at]) != nullptr) marks.push_back(at);
  marks.push_back(end);
  return marks;
}

void repair_safetensors(std::string& file, TrainingRandom&) {
  size_t end = header_end(file);
  if (end == 0) return;
  while (end < file.size() && file[end] == ' ') ++end;
  const uint64_t length = end - kLengthBytes;
  std::memcpy(file.data(), &length, sizeof length);
}

}  // namespace psm::nn
