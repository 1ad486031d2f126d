// The two ends of a plan: which ciphertexts go in and which come out, by name and level, in order. It is all
// that a client needs of a plan. //cmd:keygen, which makes the plan, writes it beside the keys, so that
// encrypting and decrypting fold no weights and plan nothing; the model's fingerprint and the parameters' say
// what it belongs to.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ckks/program/plan.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/protocol/ciphertext_note.h"
#include "cmd/protocol/key_files.h"

namespace psm::cmd {

struct PlanEnd {
  std::string name;
  ckks::Level level = 0;  // of the ciphertext, whose scale is the level's (Context::scale)
};

struct PlanEnds {
  uint64_t model_fingerprint = 0, parameters = 0;
  std::vector<PlanEnd> inputs, outputs;

  std::string text() const;
  // Throws Error if the text is none, or not of this model and these parameters; `model_path` stands in the
  // message.
  static PlanEnds parse(const std::string& text, const std::string& path, const ckks::Context& context,
                        uint64_t model_fingerprint, const std::string& model_path);
  // Of the keys' folder. Throws Error, too, for keys that //cmd:generate made, which have none.
  static PlanEnds read(const KeyFiles& keys, const ckks::Context& context, uint64_t model_fingerprint,
                       const std::string& model_path);
};

std::vector<PlanEnd> inputs_of(const program::Plan& plan);
std::vector<PlanEnd> outputs_of(const program::Plan& plan);
std::vector<std::string> names_of(std::span<const PlanEnd> ends);

// Throws Error unless the file is for this model and holds whole groups of just these ciphertexts, in this
// order, each at its level and scale. Returns the number of groups. `path`, the file's, stands in the
// messages, and so does `model_path`.
size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note,
                      std::span<const PlanEnd> ends, const ckks::Context& context, uint64_t model_fingerprint,
                      const std::string& path, const std::string& model_path);

// The same for a file of one end of the plan. Throws Error, too, where it is of the other end: answers were given
// for prompts, or prompts for answers.
enum class FileOf { kPrompts, kAnswers };
size_t require_groups(const wire::CiphertextReader& file, const CiphertextNote& note, const PlanEnds& ends,
                      FileOf wanted, const ckks::Context& context, const std::string& path,
                      const std::string& model_path);

// Memory of the ciphertexts of one group.
size_t group_bytes(const ckks::Context& context, std::span<const PlanEnd> ends);

}  // namespace psm::cmd
