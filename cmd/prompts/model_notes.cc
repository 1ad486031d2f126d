#include "cmd/prompts/model_notes.h"

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "cmd/prompts/prompt_form.h"

namespace psm::cmd {
namespace {

constexpr const char* kNote = "prompts";

}  // namespace

bool say_what_prompts_are(const Notes& notes) { return notes.contains(kNote); }

PromptCodec codec_of(const attention::ModelConfig& config, const Notes& notes) {
  const auto note = notes.find(kNote);
  if (note == notes.end())
    throw Error(
        config.patch_inputs > 0
            ? "the checkpoint does not say what images it reads; use one of //cmd:train, or import it again"
            : "the checkpoint does not say what its tokens are; use one of //cmd:train, or import it with "
              "--tokenizer");
  const std::string what = "the checkpoint's note \"prompts\"";
  const auto form = from_hex(note->second);
  if (!form || form->empty()) throw Error(what + " is not pairs of hexadecimal digits; the file is damaged");
  return codec_of_form(*form, config, config.classes, what);
}

void write_notes(const PromptCodec& codec, Notes& notes, const attention::ModelConfig& config) {
  codec.require_fitting(config);
  const std::string form = prompt_form(codec);
  notes[kNote] = hex(form.data(), form.size());
}

}  // namespace psm::cmd
