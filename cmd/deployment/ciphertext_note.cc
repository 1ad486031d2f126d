#include "cmd/deployment/ciphertext_note.h"

#include <algorithm>
#include <charconv>

#include "ckks/base/error.h"
#include "ckks/base/files/json.h"

namespace psm {

std::string CiphertextNote::text() const {
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(model_fingerprint));
  Json json;
  json["model"] = std::string(hex);
  for (const auto& name : names) json["names"].push_back(name);
  for (const auto& group : lengths) {
    Json list = Json::Array();
    for (const int length : group) list.push_back(length);
    json["lengths"].push_back(std::move(list));
  }
  return json.dump(0);
}

CiphertextNote CiphertextNote::parse(const std::string& text, const std::string& path, int max_prompts,
                                     int max_length) {
  const std::string what = path + ", note";
  const Json json = parse_json(text, what, {.max_bytes = 1 << 20, .max_depth = 4});
  CiphertextNote note;
  const std::string& hex = json.at("model", what).string(what + ", model");
  const char* end = hex.data() + hex.size();
  if (hex.size() != 16 || std::from_chars(hex.data(), end, note.model_fingerprint, 16).ptr != end) {
    throw Error(what + ", model must be sixteen hexadecimal digits");
  }
  for (const Json& name : json.at("names", what).array(what + ", names")) {
    note.names.push_back(name.string(what + ", name"));
  }
  for (const Json& group : json.at("lengths", what).array(what + ", lengths")) {
    std::vector<int> lengths;
    for (const Json& length : group.array(what + ", lengths")) {
      lengths.push_back(static_cast<int>(length.integer(what + ", length", 1, max_length)));
    }
    if (lengths.empty() || static_cast<int>(lengths.size()) > max_prompts) {
      throw Error(
          message(what, ": a group has ", lengths.size(), " prompts, from 1 to ", max_prompts, " fit"));
    }
    note.lengths.push_back(std::move(lengths));
  }
  if (note.names.empty() || note.lengths.empty() || note.lengths.size() > kMaxGroups) {
    throw Error(what + " lists no ciphertexts, or too many");
  }
  return note;
}

std::vector<std::vector<std::vector<int>>> groups_of(const std::vector<std::vector<int>>& prompts, int size) {
  std::vector<std::vector<std::vector<int>>> groups;
  for (size_t begin = 0; begin < prompts.size(); begin += static_cast<size_t>(size)) {
    const size_t end = std::min(prompts.size(), begin + static_cast<size_t>(size));
    groups.emplace_back(prompts.begin() + static_cast<ptrdiff_t>(begin),
                        prompts.begin() + static_cast<ptrdiff_t>(end));
  }
  return groups;
}

}  // namespace psm
