// What a client has of a program that goes on with a text: the two ends of the program, and those of the model.
#pragma once

#include "cmd/client/client_file.h"
#include "cmd/generation/text_ends.h"

namespace psm::cmd {

struct TextModel : TextEnds {
  // Throws Error if the program goes on with no text.
  explicit TextModel(ClientFile client);

  ClientFile file;
};

}  // namespace psm::cmd
