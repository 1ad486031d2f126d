#include "nn/text/bpe/llama2_files.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "ckks/base/error.h"

namespace psm::nn {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie in the file");

constexpr int32_t kLongest = 1 << 12;  // bytes of a token

}  // namespace

BpeSpec llama2_spec(std::string_view file, const std::string& what) {
  BpeSpec spec;
  spec.kind = BpeKind::kLlama2;
  spec.prefix = SpacePrefix::kAlways;
  spec.ends = {.start = 1, .end = 2};
  const auto refuse = [&](const auto&... why) {
    throw Error(message(what, " is no tokenizer of llama2.c: ", why...));
  };
  size_t at = 0;
  const auto read = [&](auto& value) {
    if (file.size() - at < sizeof value) refuse("it ends inside token ", spec.tokens.size());
    std::memcpy(&value, file.data() + at, sizeof value);
    at += sizeof value;
  };
  int32_t longest = 0;
  read(longest);
  if (longest < 1 || longest > kLongest)
    refuse("its longest token has ", longest, " bytes; 1 to ", kLongest, " are read");
  while (at < file.size()) {
    if (spec.tokens.size() == kMaxTokens) refuse("it has more than ", kMaxTokens, " tokens");
    int32_t length = 0;
    read(spec.scores.emplace_back());
    read(length);
    if (length < 1 || length > longest)
      refuse("token ", spec.tokens.size(), " has ", length, " bytes; its header says 1 to ", longest);
    if (file.size() - at < static_cast<size_t>(length)) refuse("it ends inside token ", spec.tokens.size());
    spec.tokens.emplace_back(file.substr(at, static_cast<size_t>(length)));
    at += static_cast<size_t>(length);
  }
  return spec;
}

}  // namespace psm::nn
