#include "cmd/training/task_flags.h"

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"

namespace psm::cmd {

TaskFlags::TaskFlags(Command& flags)
    : text_(flags.text("text", "", "the text of a language model; its last tenth is held out")),
      valid_(flags.text("valid", "", "the text held out, unless it is the last tenth of --text")),
      sentences_(flags.text("sentences", "", "texts to classify, in a file of SST-2 or QNLI")),
      images_(flags.text("images", "", "images to classify, in MNIST's format")),
      labels_(flags.text("labels", "", "their labels")) {
  flags.when_read([this] {
    if (!text_.empty() + !sentences_.empty() + !images_.empty() > 1)
      throw Error("--text, --sentences and --images are three tasks; give one");
    if (!valid_.empty() && text_.empty()) throw Error("--valid holds out a text; it needs --text");
    if (images_.empty() != labels_.empty()) throw Error("--images and --labels belong together; give both");
  });
}

bool TaskFlags::any() const { return !text_.empty() || !sentences_.empty() || !images_.empty(); }

TaskFiles TaskFlags::files() const {
  return {.text = resolve_user_path(text_),
          .valid = resolve_user_path(valid_),
          .sentences = resolve_user_path(sentences_),
          .images = resolve_user_path(images_),
          .labels = resolve_user_path(labels_)};
}

}  // namespace psm::cmd
