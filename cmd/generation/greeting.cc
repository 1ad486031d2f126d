#include "cmd/generation/greeting.h"

#include "ckks/base/files/json.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/generation/frames.h"
#include "cmd/generation/text_note.h"
#include "cmd/protocol/json_hex.h"

namespace psm::cmd {

uint64_t longest_file(const ckks::Context& context, const std::vector<PlanEnd>& ends) {
  uint64_t bytes = wire::container_bytes(context.spec()) + wire::record_bytes(wire::kMaxNoteBytes);
  for (const PlanEnd& end : ends) bytes += wire::ciphertext_bytes(context, end.level);
  return bytes;
}

std::string Greeting::line() const {
  Json json;
  json["program"] = hex(program);
  json["parameters"] = hex(parameters);
  json["keys"] = hex(keys);
  json["text"] = hex(text);
  json["window"] = window;
  json["next"] = next;
  return json.dump(0);
}

Greeting Greeting::parse(const std::string& line, const std::string& what) {
  const Json json = parse_json(line, what, {.max_bytes = kMaxLine, .max_depth = 2});
  Greeting greeting;
  greeting.program = hex_member(json, "program", what);
  greeting.parameters = hex_member(json, "parameters", what);
  greeting.keys = hex_member(json, "keys", what);
  greeting.text = hex_member(json, "text", what);
  greeting.window = static_cast<int>(json.at("window", what).integer(what + ", window", 0, kMaxText));
  greeting.next = static_cast<int>(json.at("next", what).integer(what + ", next", 0, kMaxText));
  return greeting;
}

}  // namespace psm::cmd
