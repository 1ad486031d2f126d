// The form of a model's prompts in its checkpoint: the table of prompt_form.h in hexadecimal digits, as the
// note "prompts".
#pragma once

#include <map>
#include <string>

#include "attention/shape/config.h"
#include "cmd/prompts/prompts.h"

namespace psm::cmd {

using Notes = std::map<std::string, std::string>;

bool say_what_prompts_are(const Notes& notes);
// Throws Error if the notes of the model's checkpoint say nothing about its prompts, or something that does
// not fit the model.
PromptCodec codec_of(const attention::ModelConfig& config, const Notes& notes);
// Writes notes for the functions above. Throws Error if the codec does not fit the model.
void write_notes(const PromptCodec& codec, Notes& notes, const attention::ModelConfig& config);

}  // namespace psm::cmd
