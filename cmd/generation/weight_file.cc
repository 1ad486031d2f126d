#include "cmd/generation/weight_file.h"

#include "ckks/base/error.h"
#include "ckks/base/files/json.h"
#include "ckks/base/progress.h"
#include "cmd/protocol/json_hex.h"

namespace psm::cmd {

std::string WeightNote::text() const {
  Json json;
  json["weights"] = hex(id);
  json["outline"] = attention::outline_to_json(outline);
  json["names"] = Json::Array();
  for (const std::string& name : names) json["names"].push_back(name);
  return json.dump(0);
}

WeightNote WeightNote::parse(const std::string& text, const std::string& path) {
  const std::string what = path + ", note";
  const Json json = parse_json(text, what, {.max_bytes = wire::kMaxNoteBytes, .max_depth = 8});
  if (json.find("weights") == nullptr) throw Error(path + " holds ciphertexts, but no weights of a model");
  WeightNote note;
  note.id = hex_member(json, "weights", what);
  note.outline = attention::outline_from_json(json.at("outline", what), what);
  for (const Json& name : json.at("names", what).array(what + ", names"))
    note.names.push_back(name.string(what + ", name"));
  return note;
}

void require_weights(wire::CiphertextReader& file, const WeightNote& note, const GenerationPlans& plans,
                     ckks::Fingerprint keys, const std::string& path) {
  if (file.fingerprint() != keys)
    throw Error(
        message("the weights of ", path,
                " are under another key pair than the prompts: two parties' secrets cannot be computed on "
                "together; one party must own model and data, and encrypt both"));
  const std::vector<PlanEnd> ends = plans.weights();
  bool fits = note.names == names_of(ends) && file.heads().size() == ends.size();
  for (size_t i = 0; fits && i < ends.size(); ++i)
    fits = file.heads()[i].level == ends[i].level &&
           file.heads()[i].scale == plans.context->scale(ends[i].level);
  if (!fits)
    throw Error(message(path, " does not hold the weights that its outline asks for; encrypt them anew"));
}

Ciphertexts read_weights(wire::CiphertextReader& file, const WeightNote& note) {
  Ciphertexts weights;
  Progress progress("reading weights", static_cast<double>(note.names.size()));
  for (size_t i = 0; i < note.names.size(); ++i) {
    weights.emplace(note.names[i], file.load(i));
    progress.set(static_cast<double>(i + 1));
  }
  return weights;
}

}  // namespace psm::cmd
