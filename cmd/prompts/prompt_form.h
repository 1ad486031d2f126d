// The form of a model's prompts, as a table in client's files and checkpoints: the sizes of a recall task,
// the grid of images, or a tokenizer (nn/text/bpe/tokenizer_tables.h). FORMATS.md has it byte by byte.
#pragma once

#include <string>
#include <string_view>

#include "cmd/prompts/prompts.h"

namespace psm::cmd {

std::string prompt_form(const PromptCodec& codec);
// `classes` is the model's. Throws Error that begins with `what` for anything else, or for a form that does
// not fit the model.
PromptCodec codec_of_form(std::string_view form, const attention::Readable& model, int classes,
                          const std::string& what);

}  // namespace psm::cmd
