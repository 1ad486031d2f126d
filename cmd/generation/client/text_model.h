// The client's part of a program that continues texts: the two ends of the program, and those of the model.
#pragma once

#include "cmd/client/client_file.h"
#include "cmd/generation/text_ends.h"

namespace psm::cmd {

struct TextModel : TextEnds {
  // Throws Error if the program does not continue texts.
  explicit TextModel(ClientFile client);

  ClientFile file;
};

}  // namespace psm::cmd
