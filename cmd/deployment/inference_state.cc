#include "cmd/deployment/inference_state.h"

#include <filesystem>
#include <set>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/json.h"

namespace psm {
namespace {

constexpr size_t kMaxCiphertexts = 1 << 16;

uint64_t number_in(const Json& note, const char* name, const std::string& path) {
  return static_cast<uint64_t>(note.at(name, path).integer(path + ", " + name, INT64_MIN, INT64_MAX));
}

bool fits(const Ciphertext& ciphertext, program::Value value, const program::Plan& plan,
          const Context& context) {
  const int level = plan.level[static_cast<size_t>(value.id)];
  return ciphertext.level() == level && ciphertext.scale == context.scale(level);
}

}  // namespace

uint64_t checksum_of(const wire::CiphertextFile& request) {
  uint64_t sum = checksum64(request.note.data(), request.note.size());
  for (const Ciphertext& c : request.ciphertexts) {
    const double scale = c.scale();
    sum = checksum64(&scale, sizeof scale, sum);
    for (const RnsPoly& poly : c.c) {
      for (int j = 0; j < poly.limbs(); ++j) sum = checksum64(poly.limb(j), poly.n() * sizeof(uint64_t), sum);
    }
  }
  return sum;
}

void write_run(const std::string& path, const Context& context, const program::Plan& plan,
               const RunIdentity& run, const std::vector<std::map<std::string, Ciphertext>>& outputs,
               size_t next_instruction, const LiveValues& live) {
  Json note;
  note["model"] = run.model;
  note["request"] = run.request;
  note["finished_groups"] = outputs.size();
  note["next_instruction"] = next_instruction;
  note["live"] = Json::Array();
  wire::CiphertextFile file;
  file.fingerprint = run.keys;
  for (const auto& group : outputs) {
    for (const auto& output : plan.program.outputs) file.ciphertexts.push_back(group.at(output.name).clone());
  }
  for (const auto& [value, ciphertext] : live) {
    note["live"].push_back(value.id);
    file.ciphertexts.push_back(ciphertext->clone());
  }
  file.note = note.dump(0);
  wire::write_ciphertexts(path, context, file);
}

SavedRun read_run(ByteSource source, const Context& context, const program::Plan& plan,
                  const RunIdentity& run) {
  const std::string path = source.name();
  wire::CiphertextFile file = wire::read_ciphertexts(std::move(source), context, kMaxCiphertexts);
  const Json note =
      parse_json(file.note, path + ", note", {.max_bytes = wire::kMaxNoteBytes, .max_depth = 4});
  if (file.fingerprint != run.keys || number_in(note, "model", path) != run.model ||
      number_in(note, "request", path) != run.request) {
    throw Error(message(path, " is the state of another run; remove it, or give another --state"));
  }
  const auto& names = plan.program.outputs;
  const Json::Array& values = note.at("live", path).array(path + ", live");
  const uint64_t finished = number_in(note, "finished_groups", path);
  if (finished > run.groups || (finished == run.groups && !values.empty()) ||
      finished * names.size() + values.size() != file.ciphertexts.size()) {
    throw Error(message(path, " does not hold what its note lists; remove it"));
  }
  SavedRun saved;
  size_t next = 0;
  const auto take = [&](program::Value value) {
    if (!fits(file.ciphertexts[next], value, plan, context)) {
      throw Error(message(path, " holds a ciphertext that does not fit the plan; remove it"));
    }
    return std::move(file.ciphertexts[next++]);
  };
  for (uint64_t group = 0; group < finished; ++group) {
    auto& outputs = saved.outputs.emplace_back();
    for (const auto& output : names) outputs.emplace(output.name, take(output.value));
  }
  if (values.empty()) return saved;
  saved.checkpoint.emplace();
  saved.checkpoint->next_instruction = static_cast<size_t>(
      note.at("next_instruction", path)
          .integer(path + ", next_instruction", 1, static_cast<int64_t>(plan.program.instructions.size())));
  // Exactly the values that the rest of the program needs: Run::load checks that none is missing.
  std::set<int64_t> seen;
  for (const Json& value : values) {
    const auto id = value.integer(path + ", live", 0, plan.program.value_count() - 1);
    if (plan.level[static_cast<size_t>(id)] < 0 || !seen.insert(id).second) {
      throw Error(message(path, " lists a value that the plan does not have, or twice; remove it"));
    }
    const program::Value live{static_cast<int>(id)};
    saved.checkpoint->live.emplace_back(live, take(live));
  }
  return saved;
}

InferenceState::InferenceState(const std::string& path, const Deployment& deployment,
                               const wire::CiphertextFile& request, size_t groups)
    : path_(path),
      deployment_(deployment),
      run_{request.fingerprint, deployment.model_fingerprint, checksum_of(request), groups} {
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  saved_ = read_run(path_, *deployment.context, deployment.plan, run_);
}

std::optional<program::RunState> InferenceState::take_checkpoint() {
  return std::exchange(saved_.checkpoint, std::nullopt);
}

void InferenceState::save(size_t next_instruction, const LiveValues& live) const {
  write_run(path_, *deployment_.context, deployment_.plan, run_, saved_.outputs, next_instruction, live);
}

void InferenceState::watch(size_t group, program::RunOptions& options) {
  PSM_CHECK(group == saved_.outputs.size(), group, " ", saved_.outputs.size());
  if (path_.empty()) return;
  options.checkpoint_after = program::block_boundaries(deployment_.plan);
  options.checkpoint = [this](size_t next_instruction, const LiveValues& live) {
    save(next_instruction, live);
  };
}

void InferenceState::finish_group(size_t group, std::map<std::string, Ciphertext> outputs) {
  PSM_CHECK(group == saved_.outputs.size(), group, " ", saved_.outputs.size());
  saved_.outputs.push_back(std::move(outputs));
  if (!path_.empty()) save(0, {});
}

std::vector<Ciphertext> InferenceState::take_outputs(const std::vector<std::string>& names) {
  std::vector<Ciphertext> all;
  for (auto& outputs : saved_.outputs) {
    for (const std::string& name : names) all.push_back(std::move(outputs.at(name)));
  }
  saved_.outputs.clear();
  return all;
}

void InferenceState::remove() {
  if (!path_.empty()) std::filesystem::remove(path_);
}

}  // namespace psm
