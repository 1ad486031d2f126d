#include "cmd/deployment/client/prompt_record.h"

#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/json.h"
#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {

PromptRecord PromptRecord::of(const std::vector<std::vector<std::vector<int>>>& groups) {
  PromptRecord record;
  for (const auto& group : groups) {
    std::vector<int>& lengths = record.lengths.emplace_back();
    for (const auto& prompt : group) lengths.push_back(static_cast<int>(prompt.size()));
  }
  return record;
}

std::string PromptRecord::text() const {
  Json json;
  for (const auto& group : lengths) {
    Json list = Json::Array();
    for (const int length : group) list.push_back(length);
    json["lengths"].push_back(std::move(list));
  }
  return json.dump(0);
}

PromptRecord PromptRecord::parse(const std::string& text, const std::string& path, int max_prompts,
                                 int max_length) {
  const Json json =
      parse_json(text, path, {.max_bytes = kMaxRecordBytes, .max_depth = 4, .max_values = 1 << 20});
  PromptRecord record;
  for (const Json& group : json.at("lengths", path).array(path + ", lengths")) {
    std::vector<int>& lengths = record.lengths.emplace_back();
    for (const Json& length : group.array(path + ", lengths")) {
      lengths.push_back(static_cast<int>(length.integer(path + ", length", 1, max_length)));
    }
    if (lengths.empty() || lengths.size() > static_cast<size_t>(max_prompts)) {
      throw Error(
          message(path, ": a group has ", lengths.size(), " prompts, from 1 to ", max_prompts, " fit"));
    }
  }
  if (record.lengths.empty() || record.lengths.size() > kMaxCiphertexts) {
    throw Error(path + " lists no prompts, or too many");
  }
  return record;
}

}  // namespace psm::cmd
