#include "cmd/protocol/plan_ends.h"

#include <cmath>
#include <filesystem>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"
#include "cmd/protocol/json_hex.h"

namespace psm::cmd {
namespace {

constexpr size_t kMaxEnds = 1024;
constexpr uint64_t kMaxBytes = 1 << 20;

Json to_json(std::span<const PlanEnd> ends) {
  Json list = Json::Array();
  for (const PlanEnd& end : ends) {
    Json json;
    json["name"] = end.name;
    json["level"] = int{end.level};
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<PlanEnd> ends_from(const Json& json, const std::string& what, const ckks::Context& context) {
  std::vector<PlanEnd> ends;
  for (const Json& end : json.array(what)) {
    ends.push_back({end.at("name", what).string(what + ", name"),
                    ckks::Level::at(static_cast<int>(
                        end.at("level", what).integer(what + ", level", 0, context.max_level())))});
  }
  if (ends.empty() || ends.size() > kMaxEnds) throw Error(what + " lists no ciphertexts, or too many");
  return ends;
}

std::string joined(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

}  // namespace

std::string PlanEnds::text() const {
  Json json;
  json["model"] = hex(model_fingerprint);
  json["parameters"] = hex(parameters);
  json["inputs"] = to_json(inputs);
  json["outputs"] = to_json(outputs);
  return json.dump() + "\n";
}

PlanEnds PlanEnds::parse(const std::string& text, const std::string& path, const ckks::Context& context,
                         uint64_t model_fingerprint, const std::string& model_path) {
  const Json json = parse_json(text, path + " (what ciphertexts the model takes and gives)",
                               {.max_bytes = kMaxBytes, .max_depth = 4});
  PlanEnds ends;
  ends.model_fingerprint = hex_member(json, "model", path);
  ends.parameters = hex_member(json, "parameters", path);
  if (ends.model_fingerprint != model_fingerprint) {
    throw Error(message("the keys of ", path, " were made for another model than ", model_path,
                        "; make keys for this one"));
  }
  if (ends.parameters != context.fingerprint()) {
    throw Error(message(path, " was made for other parameters; use files of one key generation"));
  }
  ends.inputs = ends_from(json.at("inputs", path), path + ", inputs", context);
  ends.outputs = ends_from(json.at("outputs", path), path + ", outputs", context);
  return ends;
}

PlanEnds PlanEnds::read(const KeyFiles& keys, const ckks::Context& context, uint64_t model_fingerprint,
                        const std::string& model_path) {
  const std::string& path = keys.plan;
  if (!std::filesystem::exists(path)) {
    // A copy for encrypting alone has no secret key.
    if (std::filesystem::exists(keys.secret))
      throw Error(message(keys.secret, " is a key of //cmd:generate, for texts token by token: there is no ",
                          path, "; make keys with //cmd:keygen in another folder"));
    throw Error(
        message(path,
                " is missing: it says which ciphertexts the model takes and gives; copy it along with the "
                "keys, or make new ones"));
  }
  return parse(read_file(path, kMaxBytes), path, context, model_fingerprint, model_path);
}

std::vector<PlanEnd> inputs_of(const program::Plan& plan) {
  std::vector<PlanEnd> ends;
  for (size_t i = 0; i < plan.program.inputs.size(); ++i)
    ends.push_back({plan.program.inputs[i].name, plan.input_levels[i]});
  return ends;
}

std::vector<PlanEnd> outputs_of(const program::Plan& plan) {
  std::vector<PlanEnd> ends;
  for (const program::NamedValue& output : plan.program.outputs)
    ends.push_back({output.name, plan.level[output.value.id]});
  return ends;
}

std::vector<std::string> names_of(std::span<const PlanEnd> ends) {
  std::vector<std::string> names;
  for (const PlanEnd& end : ends) names.push_back(end.name);
  return names;
}

size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note,
                      std::span<const PlanEnd> ends, const ckks::Context& context, uint64_t model_fingerprint,
                      const std::string& path, const std::string& model_path) {
  if (note.model_fingerprint != model_fingerprint) {
    throw Error(message(path, " belongs to another model than ", model_path));
  }
  const std::vector<std::string> names = names_of(ends);
  if (note.names != names) {
    throw Error(message(path, " lists the ciphertexts ", joined(note.names), " where the plan of ",
                        model_path, " has ", joined(names), "; make it anew"));
  }
  const auto& heads = file.heads();
  if (heads.empty() || heads.size() % ends.size() != 0) {
    throw Error(message(path, " holds ", heads.size(), " ciphertexts, which are no groups of ", ends.size()));
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    const PlanEnd& end = ends[i % ends.size()];
    const double scale = context.scale(end.level);
    if (heads[i].level == end.level && heads[i].scale == scale) continue;
    throw Error(message(path, ": ciphertext ", i, ", ", end.name, " of group ", i / ends.size(),
                        ", is at level ", heads[i].level, " and scale 2^", std::log2(heads[i].scale),
                        ", the plan of ", model_path, " has level ", end.level, " and scale 2^",
                        std::log2(scale), "; make it anew"));
  }
  return heads.size() / ends.size();
}

size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note, const PlanEnds& ends,
                      FileOf wanted, const ckks::Context& context, const std::string& path,
                      const std::string& model_path) {
  const bool prompts = wanted == FileOf::kPrompts;
  const std::vector<PlanEnd>&own = prompts ? ends.inputs : ends.outputs,
        &other = prompts ? ends.outputs : ends.inputs;
  if (note.names == names_of(other) && note.names != names_of(own)) {
    throw Error(message(path, prompts ? " holds encrypted answers; give prompts, which //cmd:encrypt writes"
                                      : " holds encrypted prompts; give answers, which //cmd:infer writes"));
  }
  return require_groups(file, note, own, context, ends.model_fingerprint, path, model_path);
}

size_t group_bytes(const ckks::Context& context, std::span<const PlanEnd> ends) {
  size_t limbs = 0;
  for (const PlanEnd& end : ends) limbs += 2 * (static_cast<size_t>(end.level) + 1);
  return limbs * static_cast<size_t>(context.n()) * sizeof(uint64_t);
}

}  // namespace psm::cmd
