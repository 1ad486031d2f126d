#include "cmd/generation/client/text_record.h"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"
#include "cmd/generation/text_note.h"
#include "cmd/protocol/json_hex.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxBytes = 256 << 20;

void write_private(const std::string& path, const std::string& content) {
  AtomicFile file(path, AtomicFile::Kind::kSecret);
  file.write(content);
  file.commit();
}

}  // namespace

std::string TextRecord::json() const {
  Json json;
  json["text"] = hex(text);
  json["program"] = hex(program);
  json["keys"] = hex(keys);
  json["prompt"] = prompt;
  json["temperature"] = sampler.temperature;
  json["top_k"] = sampler.top_k;
  json["seed"] = hex(sampler.seed);
  json["tokens"] = Json::Array();
  for (const int token : tokens) json["tokens"].push_back(token);
  return json.dump(0) + "\n";
}

TextRecord TextRecord::parse(const std::string& content, const std::string& path, int vocab) {
  const Json json = parse_json(content, path + " (the state of a text)",
                               {.max_bytes = kMaxBytes, .max_depth = 3, .max_values = kMaxText});
  TextRecord record;
  record.text = hex_member(json, "text", path);
  record.program = hex_member(json, "program", path);
  record.keys = hex_member(json, "keys", path);
  for (const Json& token : json.at("tokens", path).array(path + ", tokens"))
    record.tokens.push_back(static_cast<int>(token.integer(path + ", a token", 0, vocab - 1)));
  const auto count = static_cast<int64_t>(record.tokens.size());
  record.prompt = static_cast<int>(json.at("prompt", path).integer(path + ", prompt", 1, count));
  record.sampler.temperature = json.at("temperature", path).number(path + ", temperature");
  record.sampler.top_k = static_cast<int>(json.at("top_k", path).integer(path + ", top_k", 0, INT32_MAX));
  record.sampler.seed = hex_member(json, "seed", path);
  return record;
}

TextFolder::TextFolder(std::string folder) : folder_(std::move(folder)) {
  if (!folder_.empty()) std::filesystem::create_directories(folder_);
}

TextFolder::~TextFolder() {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

std::optional<TextRecord> TextFolder::load(int vocab) const {
  const std::string path = folder_ + "/text.json";
  if (folder_.empty() || !std::filesystem::exists(path)) return std::nullopt;
  return TextRecord::parse(read_file(path, kMaxBytes), path, vocab);
}

void TextFolder::save(const TextRecord& record) const {
  if (!folder_.empty()) write_private(folder_ + "/text.json", record.json());
}

std::optional<std::string> TextFolder::request(uint64_t longest) const {
  const std::string path = folder_ + "/request.ct";
  if (folder_.empty() || !std::filesystem::exists(path)) return std::nullopt;
  return read_file(path, longest);
}

void TextFolder::save_request(const std::string& bytes) const {
  if (!folder_.empty()) write_private(folder_ + "/request.ct", bytes);
}

}  // namespace psm::cmd
