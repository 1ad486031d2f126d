#include "cmd/protocol/group_files.h"

#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/joined.h"

namespace psm::cmd {
size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note,
                      std::span<const PlanEnd> ends, const ckks::Context& context, uint64_t program_id,
                      const std::string& path, const std::string& program_path) {
  if (note.program_id != program_id) {
    throw Error(message(path, " belongs to another program than ", program_path));
  }
  const std::vector<std::string> names = names_of(ends);
  if (note.names != names) {
    throw Error(message(path, " lists the ciphertexts ", note.names.empty() ? "none" : joined(note.names),
                        " where the plan of ", program_path, " has ", joined(names), "; make it anew"));
  }
  const auto& heads = file.heads();
  if (heads.empty() || heads.size() % ends.size() != 0) {
    throw Error(message(path, " holds ", heads.size(), " ciphertexts, which are no groups of ", ends.size()));
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    const PlanEnd& end = ends[i % ends.size()];
    if (is_at(heads[i], end.level, context)) continue;
    throw Error(message(path, ": ciphertext ", i, ", ", end.name, " of group ", i / ends.size(),
                        ", is at level ", heads[i].level, " and scale 2^", std::log2(heads[i].scale),
                        ", the plan of ", program_path, " has level ", end.level, " and scale 2^",
                        std::log2(context.scale(end.level)), "; make it anew"));
  }
  return heads.size() / ends.size();
}

size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note, const PlanEnds& ends,
                      FileOf wanted, const ckks::Context& context, const std::string& path,
                      const std::string& program_path) {
  const bool prompts = wanted == FileOf::kPrompts;
  const std::vector<PlanEnd>&own = prompts ? ends.inputs : ends.outputs,
        &other = prompts ? ends.outputs : ends.inputs;
  if (note.names == names_of(other) && note.names != names_of(own)) {
    throw Error(message(path, prompts ? " holds encrypted answers; give prompts, which //cmd:encrypt writes"
                                      : " holds encrypted prompts; give answers, which //cmd:infer writes"));
  }
  return require_groups(file, note, own, context, ends.program_id, path, program_path);
}

size_t group_bytes(const ckks::Context& context, std::span<const PlanEnd> ends) {
  size_t limbs = 0;
  for (const PlanEnd& end : ends) limbs += 2 * (static_cast<size_t>(end.level) + 1);
  return limbs * static_cast<size_t>(context.n()) * sizeof(uint64_t);
}

}  // namespace psm::cmd
