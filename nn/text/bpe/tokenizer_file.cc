#include "nn/text/bpe/tokenizer_file.h"

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::nn {
namespace {

constexpr int32_t kLongest = 1 << 12;  // bytes of a token

BpeSpec vocabulary_spec(const std::string& file, const std::string& path) {
  const std::string config = std::filesystem::path(path).replace_filename("tokenizer_config.json");
  return spec_from_vocabulary(
      file, std::filesystem::exists(config) ? read_file(config, kMaxTokenizerBytes) : "", path);
}

// The file of the merges of GPT-2's vocabulary; empty for another file.
std::string merges_of(const std::string& path) {
  for (const auto& [end, merges] :
       {std::pair<std::string, std::string>("vocab.json", "merges.txt"), {"encoder.json", "vocab.bpe"}})
    if (path.ends_with(end)) return path.substr(0, path.size() - end.size()) + merges;
  return "";
}

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

std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path) {
  const std::string file = read_file(path, kMaxTokenizerBytes);
  // A file of llama2.c begins with a length of four bytes, of which the last is 0.
  const std::string merges = merges_of(path);
  BpeSpec spec = !merges.empty() ? spec_from_gpt2_files(file, read_file(merges, kMaxTokenizerBytes), path)
                 : path.ends_with(".txt")              ? vocabulary_spec(file, path)
                 : file.size() >= 4 && file[3] == '\0' ? llama2_spec(file, path)
                                                       : read_tokenizer_json(file, path);
  return std::make_shared<const Tokenizer>(std::move(spec), path);
}

}  // namespace psm::nn
