// Files of a program's input or output ciphertexts, group after group.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "ckks/base/files/file.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/wire/ciphertext_reader.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

using Ciphertexts = std::map<std::string, ckks::Ciphertext>;  // by name

// Whether a ciphertext is at this level, and at the level's scale.
inline bool is_at(const wire::CiphertextReader::Head& head, ckks::Level level, const ckks::Context& context) {
  return head.level == level && head.scale == context.scale(level);
}

// Throws Error unless the file is for this program and has whole groups of exactly these ciphertexts, in this order,
// each at its level and scale. Returns the number of groups. Messages name `path`, the file's, and `program_path`.
size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note,
                      std::span<const PlanEnd> ends, const ckks::Context& context, uint64_t program_id,
                      const std::string& path, const std::string& program_path);

// The same for a file of one end of the program. Also throws Error if it is of the other end: answers in
// place of prompts, or prompts in place of answers.
enum class FileOf { kPrompts, kAnswers };
size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note, const PlanEnds& ends,
                      FileOf wanted, const ckks::Context& context, const std::string& path,
                      const std::string& program_path);

// An open file of groups, of which nothing was required yet.
template <typename Note = CiphertextNote>
struct GroupFile {
  // A file as its user named it, or bytes that messages call `name`, with at most so many ciphertexts. Throw Error unless
  // it has such a note.
  GroupFile(const std::string& path, const ckks::Context& context, size_t most = kMaxCiphertexts)
      : reader(resolve_user_path(path), context, most), note(parse_note<Note>(reader.note(), path)) {}
  GroupFile(const std::string& name, std::string_view bytes, const ckks::Context& context, size_t most)
      : reader(ByteSource(name, bytes), context, most), note(parse_note<Note>(reader.note(), name)) {}

  Ciphertexts load(size_t group) {
    Ciphertexts loaded;
    const size_t first = group * note.names.size();
    for (size_t i = 0; i < note.names.size(); ++i) loaded.emplace(note.names[i], reader.load(first + i));
    return loaded;
  }

  wire::CiphertextReader reader;
  Note note;
};

// Memory of the ciphertexts of one group.
size_t group_bytes(const ckks::Context& context, std::span<const PlanEnd> ends);

}  // namespace psm::cmd
