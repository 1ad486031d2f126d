#include "cmd/generation/text_note.h"

#include "ckks/base/files/json.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxBytes = 1 << 20;

}  // namespace

std::string TextNote::text() const {
  Json json = parse_json(CiphertextNote::text(), "note");
  json["first"] = first;
  json["count"] = count;
  return json.dump(0);
}

TextNote TextNote::parse(const std::string& text, const std::string& path) {
  TextNote note;
  static_cast<CiphertextNote&>(note) = CiphertextNote::parse(text, path);
  const std::string what = path + ", note";
  const Json json = parse_json(text, what, {.max_bytes = kMaxBytes, .max_depth = 3});
  note.first = static_cast<int>(json.at("first", what).integer(what + ", first", 0, kMaxText));
  note.count = static_cast<int>(json.at("count", what).integer(what + ", count", 1, kMaxText));
  return note;
}

}  // namespace psm::cmd
