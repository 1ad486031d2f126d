// Files of a program's input or output ciphertexts, group after group.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "ckks/scheme/chain/context.h"
#include "ckks/wire/ciphertext_reader.h"
#include "cmd/protocol/notes.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

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

// Memory of the ciphertexts of one group.
size_t group_bytes(const ckks::Context& context, std::span<const PlanEnd> ends);

}  // namespace psm::cmd
