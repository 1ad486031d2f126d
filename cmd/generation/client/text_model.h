// The client's part of a program that continues texts: the two ends of the program, and those of the model.
#pragma once

#include <utility>

#include "ckks/base/error.h"
#include "cmd/client/client_file.h"
#include "cmd/generation/text_ends.h"

namespace psm::cmd {

struct TextModel : TextEnds {
  // Throws Error if the program does not continue texts.
  explicit TextModel(ClientFile client) : TextEnds(ends_of(client)), file(std::move(client)) {
    id = file.program_id();
    context = file.context;
    tokens = file.model.shape.context;
    std::vector<std::string> names;
    for (const ClientWeight& weight : file.weights) names.push_back(weight.name);
    if (names != names_of(weights))
      throw Error("the client file's weights are not those of its program; compile the model again");
  }

  ClientFile file;

 private:
  static TextEnds ends_of(const ClientFile& file) {
    const ClientEntry missing{}, *prompt = &missing, *token = &missing;
    for (const ClientEntry& entry : file.entries) {
      if (entry.name == kPrompt) prompt = &entry;
      if (entry.name == kToken) token = &entry;
    }
    TextEnds ends({0, prompt->inputs, prompt->outputs}, {0, token->inputs, token->outputs});
    ends.prompt_overflow = prompt->overflow, ends.token_overflow = token->overflow;
    return ends;
  }
};

}  // namespace psm::cmd
