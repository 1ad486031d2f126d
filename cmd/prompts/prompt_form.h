// The form of a model's prompts, as a table in client's files and checkpoints: the sizes of a recall task,
// the grid of images, or a tokenizer (nn/text/bpe/tokenizer_tables.h). FORMATS.md has it byte by byte. A checkpoint
// has it in hexadecimal digits, as a note.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cmd/prompts/prompts.h"

namespace psm::cmd {

std::string prompt_form(const PromptCodec& codec);
// Throws Error that begins with `what` for anything else, or for a form that does not fit the model.
PromptCodec codec_of_form(std::string_view form, const attention::Readable& model, const std::string& what);

using Notes = std::map<std::string, std::string>;

// The note of a checkpoint; without it, nothing is said of prompts.
inline constexpr const char* kPromptsNote = "prompts";

// Throws Error if the notes of the model's checkpoint say nothing about its prompts, or something that does
// not fit the model.
PromptCodec codec_of(const attention::Readable& model, const Notes& notes);
// Writes the note. Throws Error if the codec does not fit the model.
void write_notes(const PromptCodec& codec, Notes& notes, const attention::Readable& model);

}  // namespace psm::cmd
