#include "cmd/prompts/prompt_form.h"

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/wire/tables.h"
#include "nn/text/bpe/tokenizer_tables.h"

namespace psm::cmd {
namespace {

enum Kind : uint8_t { kRecall = 1, kImages, kTokenizer };
constexpr int kMostOfGrid = 1 << 12;  // pixels of a side of an image

struct Form {
  uint8_t kind = 0;
  nn::RecallOptions recall{};
  attention::PatchGrid images{};
  std::string tokenizer{};
};

template <typename Tables>
void describe(Tables& t, Form& form) {
  t.number(form.kind);
  if (form.kind == kRecall)
    for (int* number : {&form.recall.keys, &form.recall.values, &form.recall.pairs, &form.recall.length})
      t.number(*number);
  if (form.kind == kImages)
    for (int* number : {&form.images.height, &form.images.width, &form.images.patch, &form.images.channels}) {
      t.number(*number);
      if (*number < 1 || *number > kMostOfGrid) t.refuse("its images have no size");
    }
  if (form.kind == kTokenizer) t.text(form.tokenizer);
  if (form.kind < kRecall || form.kind > kTokenizer) t.refuse("it does not say what its prompts are");
}

}  // namespace

std::string prompt_form(const PromptCodec& codec) {
  if (codec.reads_numbers()) return {};
  if (codec.is_recall()) return wire::to_bytes(Form{.kind = kRecall, .recall = codec.recall()});
  if (codec.reads_images()) return wire::to_bytes(Form{.kind = kImages, .images = codec.images()});
  return wire::to_bytes(Form{.kind = kTokenizer, .tokenizer = nn::tokenizer_bytes(*codec.tokenizer())});
}

PromptCodec codec_of_form(std::string_view bytes, const attention::Readable& model, const std::string& what) {
  if (bytes.empty() && model.patch_inputs > 0)
    throw Error(message(what, " is of a shape, which does not say what its images are; compile a model"));
  if (bytes.empty()) return PromptCodec(model.vocab, model.classes);
  const Form form = wire::from_bytes<Form>(bytes, what);
  if (form.kind == kRecall) {
    prefixed(what, [&] { form.recall.validate(); });
    if (form.recall.length > model.context)
      throw Error(what + " has sequences that are longer than the model takes");
    if (int64_t{form.recall.keys} + form.recall.values != model.vocab)  // before their names are made
      throw Error(what + " names other symbols than the model has");
  }
  PromptCodec codec = form.kind == kRecall ? PromptCodec(form.recall)
                      : form.kind == kImages
                          ? PromptCodec(form.images, model.classes)
                          : PromptCodec(nn::tokenizer_from_bytes(form.tokenizer, what), model.classes);
  prefixed(what, [&] { codec.require_fitting(model); });
  return codec;
}

PromptCodec codec_of(const attention::Readable& model, const Notes& notes) {
  const auto note = notes.find(kPromptsNote);
  if (note == notes.end())
    throw Error(
        model.patch_inputs > 0
            ? "the checkpoint does not say what images it reads; use one of //cmd:train, or import it again"
            : "the checkpoint does not say what its tokens are; use one of //cmd:train, or import it with "
              "--tokenizer");
  const std::string what = "the checkpoint's note \"prompts\"";
  const auto form = from_hex(note->second);
  if (!form || form->empty()) throw Error(what + " is not pairs of hexadecimal digits; the file is damaged");
  return codec_of_form(*form, model, what);
}

void write_notes(const PromptCodec& codec, Notes& notes, const attention::Readable& model) {
  codec.require_fitting(model);
  const std::string form = prompt_form(codec);
  notes[kPromptsNote] = hex(form.data(), form.size());
}

}  // namespace psm::cmd
