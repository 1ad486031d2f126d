// What a client's file and a checkpoint say of their model's prompts: the sizes of a recall task, the grid of images, or
// a tokenizer (nn/text/tables/tokenizer_tables.h), as a table. FORMATS.md has it byte by byte.
#pragma once

#include <string>
#include <string_view>

#include "cmd/prompts/prompts.h"

namespace psm::cmd {

std::string prompt_form(const PromptCodec& codec);
// `classes`: the model's. Throws Error that begins with `what` for anything else, or for what does not fit the model.
PromptCodec codec_of_form(std::string_view form, const attention::Readable& model, int classes,
                          const std::string& what);

}  // namespace psm::cmd
