// The flags of a task's data.
#pragma once

#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/terminal/command.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {

// For the commands that train or score models on the data. Once the flags are read, these are the files: the user's
// paths are resolved.
struct TaskFlags : TaskFiles {
  // Throws Error, once the flags are read, on flags that do not go together.
  explicit TaskFlags(Command& flags) {
    const auto add = [&](const char* name, std::string TaskFiles::*file, const char* what) {
      flags.when_read(
          [this, file, &path = flags.text(name, "", what)] { this->*file = resolve_user_path(path); });
    };
    add("text", &TaskFiles::text, "the text of a language model; its last tenth is held out");
    add("valid", &TaskFiles::valid,
        "the text, or the file of --sentences, that is held out in place of a tenth");
    add("sentences", &TaskFiles::sentences, "texts to classify, in a file of SST-2, QNLI or MRPC");
    add("images", &TaskFiles::images,
        "images to classify, in MNIST's format with --labels, or in CIFAR-10's");
    add("labels", &TaskFiles::labels, "their labels");
    flags.when_read([this] {
      if (tasks() > 1) throw Error("--text, --sentences and --images are three tasks; give one");
      if (!valid.empty() && text.empty() && sentences.empty())
        throw Error("--valid holds out texts; it needs --text or --sentences");
      if (images.empty() && !labels.empty()) throw Error("--labels are those of --images; give both");
    });
  }
  TaskFlags(const TaskFlags&) = delete;
  TaskFlags& operator=(const TaskFlags&) = delete;
};

}  // namespace psm::cmd
