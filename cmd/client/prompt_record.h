// The client's record of a request that it encrypted: the lengths of its prompts. The server does not need
// them, so they are not in its files but in one next to the keys, readable by its owner only. The answers
// carry the request's number, by which //cmd:decrypt finds the record.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/protocol/notes.h"

namespace psm::cmd {

struct PromptRecord {
  static constexpr NoteKind kKind = NoteKind::kPrompts;
  static constexpr const char* kWhat = "record of the lengths of prompts";

  // In tokens, or grey values of an image, by group of prompts that share ciphertexts.
  std::vector<std::vector<int>> lengths;

  std::string text() const;  // a note, with a checksum
  // Throws Error if the text is not a record, is damaged, or has groups of more than `max_prompts` prompts of
  // at most `max_length` tokens.
  static PromptRecord parse(const std::string& text, const std::string& path, int max_prompts,
                            int max_length);
};

// More than a file of prompts can have, 4 bytes for each.
constexpr uint64_t kMaxRecordBytes = 64 << 20;

}  // namespace psm::cmd
