#include "cmd/client/prompt_record.h"

#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/json.h"
#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {
namespace {

Json to_json(const std::vector<std::vector<int>>& lengths) {
  Json all = Json::Array();
  for (const auto& group : lengths) {
    Json list = Json::Array();
    for (const int length : group) list.push_back(length);
    all.push_back(std::move(list));
  }
  return all;
}

std::string checksum_of(const std::vector<std::vector<int>>& lengths) {
  const std::string text = to_json(lengths).dump(0);
  return hex(checksum64(text.data(), text.size()));
}

}  // namespace

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
  json["lengths"] = to_json(lengths);
  json["checksum"] = checksum_of(lengths);
  return json.dump(0);
}

PromptRecord PromptRecord::parse(const std::string& text, const std::string& path, int max_prompts,
                                 int max_length) {
  const Json json = parse_json(text, path + " (the lengths of a request's prompts)",
                               {.max_bytes = kMaxRecordBytes, .max_depth = 4, .max_values = 1 << 20});
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
  if (json.at("checksum", path).string(path + ", checksum") != checksum_of(record.lengths)) {
    throw Error(
        message(path,
                " is damaged: how long the prompts were is not known; bring the file back, or remove it and "
                "give the prompts again"));
  }
  return record;
}

}  // namespace psm::cmd
