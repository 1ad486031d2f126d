// The flags that name a task's data, for the commands that train or score models on it.
#pragma once

#include "cmd/terminal/command.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {

struct TaskFlags {
  // Once the flags are read, throws Error on flags that do not go together.
  explicit TaskFlags(Command& flags);

  bool any() const;
  // The files, with the user's paths resolved.
  TaskFiles files() const;

 private:
  const std::string &text_, &valid_, &sentences_, &images_, &labels_;
};

}  // namespace psm::cmd
