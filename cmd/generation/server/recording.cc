#include "cmd/generation/server/recording.h"

#include <algorithm>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/byte_source.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/random/sha256.h"

namespace psm::cmd {
namespace {

constexpr int64_t kVersion = 2;
constexpr size_t kMaxRuns = 4096, kMaxInstructions = 1 << 20;
constexpr const char* kNote =
    "The secret key beside this file is a test key: it was made for this record and is published in it. It "
    "protects nothing, and must never encrypt anything else.";

// Numbers of 64 bits are sixteen hexadecimal digits.
uint64_t hex_number(const Json& json, const std::string& what) {
  const std::optional<uint64_t> number = number_from_hex(json.string(what));
  if (!number) throw Error(message(what, " must be sixteen hexadecimal digits"));
  return *number;
}
uint64_t hex_member(const Json& json, const char* name, const std::string& what) {
  return hex_number(json.at(name, what), what + ", " + name);
}

}  // namespace

std::string Recording::json() const {
  Json json;
  json["version"] = kVersion;
  json["note"] = kNote;
  json["program"] = hex(program);
  json["parameters"] = hex(parameters);
  json["keys"] = hex(keys);
  json["program_file"] = program_file;
  json["evaluation_keys"] = evaluation_keys;
  json["made_with"] = made_with;
  json["text"] = text;
  for (const RecordedRun& run : runs) {
    Json entry;
    entry["kind"] = run.kind == FrameKind::kPrompt ? "prompt" : "token";
    entry["request"] = run.request;
    entry["answer"] = run.answer;
    for (const uint64_t digest : run.digests) entry["digests"].push_back(hex(digest));
    json["runs"].push_back(std::move(entry));
  }
  return json.dump(1);
}

Recording Recording::parse(const std::string& text, const std::string& what) {
  const Json json =
      parse_json(text, what, {.max_bytes = text.size(), .max_depth = 8, .max_values = text.size()});
  const int64_t version = json.at("version", what).integer(what + ", version", 0, INT64_MAX);
  if (version != kVersion)
    throw Error(message(what, " has version ", version, "; this program reads version ", kVersion));
  Recording recording;
  recording.program = hex_member(json, "program", what);
  recording.parameters = hex_member(json, "parameters", what);
  recording.keys = hex_member(json, "keys", what);
  recording.program_file = json.at("program_file", what).string(what);
  recording.evaluation_keys = json.at("evaluation_keys", what).string(what);
  recording.made_with = json.at("made_with", what).string(what);
  recording.text = json.at("text", what).string(what);
  const Json::Array& runs = json.at("runs", what).array(what + ", runs");
  if (runs.empty() || runs.size() > kMaxRuns) throw Error(message(what, " has ", runs.size(), " runs"));
  for (const Json& entry : runs) {
    RecordedRun run;
    const std::string& kind = entry.at("kind", what).string(what);
    if (kind != "prompt" && kind != "token") throw Error(message(what, ": a run is a \"", kind, "\""));
    run.kind = kind == "prompt" ? FrameKind::kPrompt : FrameKind::kToken;
    run.request = entry.at("request", what).string(what);
    run.answer = entry.at("answer", what).string(what);
    const Json::Array& digests = entry.at("digests", what).array(what + ", digests");
    if (digests.size() > kMaxInstructions) throw Error(message(what, ": a run has too many instructions"));
    for (const Json& digest : digests) run.digests.push_back(hex_number(digest, what + ", digests"));
    recording.runs.push_back(std::move(run));
  }
  return recording;
}

std::string file_digest(const std::string& path) {
  ByteSource source(path);
  Sha256 sum;
  std::vector<char> block(1 << 14);
  while (const size_t bytes = std::min<uint64_t>(block.size(), source.left())) {
    if (!source.read(block.data(), bytes)) throw Error(message("cannot read ", path, ": it was cut"));
    sum.update(block.data(), bytes);
  }
  const Sha256::Digest digest = sum.digest();
  return hex(digest.data(), digest.size());
}

}  // namespace psm::cmd
