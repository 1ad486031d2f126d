#include "cmd/inference_state.h"

#include <filesystem>
#include <utility>

#include "ckks/base/checksum.h"
#include "ckks/base/error.h"
#include "ckks/base/json.h"

namespace psm {
namespace {

constexpr size_t kMaxCiphertexts = 1 << 16;

uint64_t checksum_of(const wire::CiphertextFile& request) {
  uint64_t sum = checksum64(request.note.data(), request.note.size());
  for (const Ciphertext& c : request.ciphertexts) {
    for (const RnsPoly& poly : c.c) sum = checksum64(poly.limb(0), poly.n() * sizeof(uint64_t), sum);
  }
  return sum;
}

}  // namespace

InferenceState::InferenceState(const std::string& path, const Deployment& deployment,
                               const wire::CiphertextFile& request)
    : path_(path),
      deployment_(deployment),
      fingerprint_(request.fingerprint),
      request_checksum_(checksum_of(request)) {
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  wire::CiphertextFile file = wire::read_ciphertexts(path_, *deployment.context, kMaxCiphertexts);
  const Json note = parse_json(file.note, path_ + ", note", {.max_bytes = wire::kMaxNoteBytes, .max_depth = 4});
  const auto number = [&](const char* name, int64_t hi) { return note.at(name, path_).integer(path_ + ", " + name, 0, hi); };
  if (file.fingerprint != fingerprint_ ||
      static_cast<uint64_t>(note.at("model", path_).integer("model", INT64_MIN, INT64_MAX)) != deployment.model_fingerprint ||
      static_cast<uint64_t>(note.at("request", path_).integer("request", INT64_MIN, INT64_MAX)) != request_checksum_) {
    throw Error(message(path_, " is the state of another run; remove it, or give another --state"));
  }
  std::vector<std::string> names;
  for (const auto& output : deployment.plan.program.outputs) names.push_back(output.name);
  const size_t finished = static_cast<size_t>(number("finished_groups", kMaxCiphertexts));
  const Json::Array& values = note.at("live", path_).array(path_ + ", live");
  if (finished * names.size() + values.size() != file.ciphertexts.size()) {
    throw Error(message(path_, " does not hold what its note lists; remove it"));
  }
  size_t next = 0;
  for (size_t group = 0; group < finished; ++group) {
    auto& outputs = outputs_.emplace_back();
    for (const std::string& name : names) outputs.emplace(name, std::move(file.ciphertexts[next++]));
  }
  if (values.empty()) return;
  checkpoint_.emplace();
  checkpoint_->next_instruction = static_cast<size_t>(
      number("next_instruction", static_cast<int64_t>(deployment.plan.program.instructions.size())));
  for (const Json& value : values) {
    const auto id = value.integer(path_ + ", live", 0, deployment.plan.program.value_count() - 1);
    checkpoint_->live.emplace_back(program::Value{static_cast<int>(id)}, std::move(file.ciphertexts[next++]));
  }
}

std::optional<program::Checkpoint> InferenceState::take_checkpoint() { return std::exchange(checkpoint_, std::nullopt); }

void InferenceState::save(size_t next_instruction, const Live& live) const {
  Json note;
  note["model"] = deployment_.model_fingerprint;
  note["request"] = request_checksum_;
  note["finished_groups"] = static_cast<int64_t>(outputs_.size());
  note["next_instruction"] = static_cast<int64_t>(next_instruction);
  note["live"] = Json::Array();
  wire::CiphertextFile file;
  file.fingerprint = fingerprint_;
  for (const auto& outputs : outputs_) {
    for (const auto& output : deployment_.plan.program.outputs) file.ciphertexts.push_back(outputs.at(output.name).clone());
  }
  for (const auto& [value, ciphertext] : live) {
    note["live"].push_back(value.id);
    file.ciphertexts.push_back(ciphertext->clone());
  }
  file.note = note.dump(0);
  wire::write_ciphertexts(path_, *deployment_.context, file);
}

void InferenceState::watch(size_t group, program::RunOptions& options) {
  PSM_CHECK(group == outputs_.size(), group, " ", outputs_.size());
  if (path_.empty()) return;
  options.checkpoint_after = program::block_boundaries(deployment_.plan);
  options.checkpoint = [this](size_t next_instruction, const Live& live) { save(next_instruction, live); };
}

void InferenceState::finish_group(size_t group, std::map<std::string, Ciphertext> outputs) {
  PSM_CHECK(group == outputs_.size(), group, " ", outputs_.size());
  outputs_.push_back(std::move(outputs));
  if (!path_.empty()) save(0, {});
}

std::vector<Ciphertext> InferenceState::take_outputs(const std::vector<std::string>& names) {
  std::vector<Ciphertext> all;
  for (auto& outputs : outputs_) {
    for (const std::string& name : names) all.push_back(std::move(outputs.at(name)));
  }
  outputs_.clear();
  return all;
}

void InferenceState::remove() {
  if (!path_.empty()) std::filesystem::remove(path_);
}

}  // namespace psm
