#include "cmd/protocol/ciphertext_note.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/files/json.h"
#include "cmd/protocol/json_hex.h"

namespace psm::cmd {

std::string CiphertextNote::text() const {
  Json json;
  json["program"] = hex(program_id);
  json["request"] = hex(request);
  for (const auto& name : names) json["names"].push_back(name);
  return json.dump(0);
}

CiphertextNote CiphertextNote::parse(const std::string& text, const std::string& path) {
  const std::string what = path + ", note";
  const Json json = parse_json(text, what, {.max_bytes = 1 << 20, .max_depth = 3});
  CiphertextNote note;
  note.program_id = hex_member(json, "program", what);
  note.request = hex_member(json, "request", what);
  for (const Json& name : json.at("names", what).array(what + ", names")) {
    note.names.push_back(name.string(what + ", name"));
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

}  // namespace psm::cmd
