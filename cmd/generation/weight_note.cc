#include "cmd/generation/weight_note.h"

#include "ckks/base/error.h"
#include "ckks/base/files/json.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/protocol/json_hex.h"

namespace psm::cmd {

std::string WeightNote::text() const {
  Json json;
  json["weights"] = hex(id);
  json["program"] = hex(program_id);
  json["names"] = Json::Array();
  for (const std::string& name : names) json["names"].push_back(name);
  return json.dump(0);
}

WeightNote WeightNote::parse(const std::string& text, const std::string& path) {
  const std::string what = path + ", note";
  const Json json = parse_json(text, what, {.max_bytes = wire::kMaxNoteBytes, .max_depth = 3});
  if (json.find("weights") == nullptr) throw Error(path + " holds ciphertexts, but no weights of a model");
  WeightNote note;
  note.id = hex_member(json, "weights", what);
  note.program_id = hex_member(json, "program", what);
  for (const Json& name : json.at("names", what).array(what + ", names"))
    note.names.push_back(name.string(what + ", name"));
  return note;
}

}  // namespace psm::cmd
