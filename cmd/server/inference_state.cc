#include "cmd/server/inference_state.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "cmd/protocol/group_files.h"

namespace psm::cmd {
namespace {

// The note of a file. The keys are in its head.
struct GroupNote {
  static constexpr NoteKind kKind = NoteKind::kGroup;
  static constexpr const char* kWhat = "state of an interrupted run";

  uint64_t program = 0, request = 0, group = 0;  // the program's id; a checksum of the request
  int next_instruction = 0;
};

template <typename Tables>
void describe(Tables& t, GroupNote& note) {
  t.number(note.program), t.number(note.request), t.number(note.group);
  t.number(note.next_instruction);
}

}  // namespace

program::RunState InferenceState::load(size_t group) const {
  const program::Plan& plan = pass_.plan;
  const ckks::Context& context = *pass_.context;
  const std::string path = this->path(group);
  wire::CiphertextReader file(path, context, plan.level.size());
  const auto note = parse_note<GroupNote>(file.note(), path);
  if (file.fingerprint() != keys_ || note.program != pass_.program_id || note.request != request_ ||
      note.group != group) {
    throw Error(message(path, " is the state of another run; remove it, or give another --state"));
  }
  program::RunState checkpoint;
  checkpoint.next_instruction = static_cast<size_t>(note.next_instruction);
  if (note.next_instruction < 1 || checkpoint.next_instruction > plan.program.instructions.size())
    throw Error(message(path, " goes on at instruction ", note.next_instruction, " of ",
                        plan.program.instructions.size(), "; remove it"));
  const std::vector<program::Value> needed = program::live_after(plan, checkpoint.next_instruction - 1);
  const auto& heads = file.heads();
  bool fits = heads.size() == needed.size();
  for (size_t i = 0; fits && i < heads.size(); ++i) fits = is_at(heads[i], plan.level[needed[i].id], context);
  if (!fits) throw Error(message(path, " does not hold what the plan needs there; remove it"));
  for (size_t i = 0; i < heads.size(); ++i) checkpoint.live.emplace_back(needed[i], file.load(i));
  return checkpoint;
}

InferenceState::InferenceState(const std::string& folder, const PlannedPass& pass,
                               const wire::CiphertextReader& request, size_t groups)
    : folder_(folder),
      pass_(pass),
      keys_(request.fingerprint()),
      request_(request.checksum()),
      groups_(groups) {
  if (folder_.empty()) return;
  std::error_code failed;  // the probe below says so
  std::filesystem::create_directories(folder_, failed);
  const program::Plan& plan = pass_.plan;
  while (answers_.size() < groups_ && std::filesystem::exists(path(answers_.size()))) {
    const size_t group = answers_.size();
    program::RunState saved = load(group);
    if (saved.next_instruction < plan.program.instructions.size()) {
      saved_ = saved.next_instruction;
      checkpoint_ = std::move(saved);
      break;
    }
    Outputs& outputs = answers_.emplace_back();
    for (const program::NamedValue& output : plan.program.outputs) {
      for (const auto& [value, ciphertext] : saved.live) {
        if (value == output.value) outputs.emplace(output.name, ciphertext.clone());
      }
    }
  }
  if (answers_.size() < groups_)
    AtomicFile probe(path(answers_.size()));  // refuse now rather than after the work
}

InferenceState::~InferenceState() {
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

std::string InferenceState::text() const {
  if (answers_.empty() && saved_ == 0) return {};
  const std::string groups = message(answers_.size(), " of ", groups_, " groups of prompts");
  if (saved_ == 0) return groups;
  return message(groups, ", and the next up to instruction ", saved_, " of ",
                 pass_.plan.program.instructions.size());
}

bool InferenceState::save(size_t next_instruction, const LiveValues& live) {
  const size_t group = answers_.size();
  try {
    const GroupNote note{pass_.program_id, request_, group, static_cast<int>(next_instruction)};
    wire::CiphertextWriter writer(path(group), *pass_.context, keys_, note_text(note));
    for (const auto& [value, ciphertext] : live) writer.write(*ciphertext);
    writer.commit();
    saved_ = next_instruction;
    return true;
  } catch (const Error& error) {
    std::fprintf(stderr, "warning: %s; the run goes on, and would resume from what was saved before\n",
                 visible(error.what()).c_str());
    return false;
  }
}

void InferenceState::watch(program::RunOptions& options) {
  if (folder_.empty()) return;
  options.checkpoint_after = program::block_boundaries(pass_.plan);
  options.checkpoint = [this](size_t next_instruction, const LiveValues& live) {
    save(next_instruction, live);
  };
}

void InferenceState::finish_group(Outputs outputs) {
  const program::Plan& plan = pass_.plan;
  if (!folder_.empty()) {
    LiveValues live;
    for (const program::Value value : program::live_after(plan, plan.program.instructions.size() - 1)) {
      const auto output = std::ranges::find(plan.program.outputs, value, &program::NamedValue::value);
      if (output != plan.program.outputs.end()) live.emplace_back(value, &outputs.at(output->name));
    }
    if (!save(plan.program.instructions.size(), live)) lacks_answers_ = true;
  }
  answers_.push_back(std::move(outputs));
  saved_ = 0;
}

void InferenceState::remove() {
  if (folder_.empty()) return;
  std::error_code ignored;
  for (size_t group = 0; group < groups_; ++group) std::filesystem::remove(path(group), ignored);
}

}  // namespace psm::cmd
