#include "cmd/prompts/model_notes.h"

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"
#include "nn/text/files/tokenizer_file.h"

namespace psm::cmd {
namespace {

constexpr const char *kNote = "tokenizer", *kRecall = "recall", *kImages = "images";
constexpr int kMaxSymbols = 1 << 20;
constexpr int kMaxPixels = 1 << 12;  // of a side of an image

void require_fitting(int tokens, int vocab) {
  if (tokens > vocab) {
    throw Error(message("the tokenizer has ", tokens, " tokens and the model ", vocab,
                        "; give the tokenizer that belongs to the model"));
  }
}

// Reads numbers from 1 to `most` out of a note.
struct NumbersOfNote {
  NumbersOfNote(const std::string& text, const char* name, int most)
      : what(message("the checkpoint's note \"", name, "\"")),
        json(parse_json(text, what, {.max_bytes = 4096, .max_depth = 2})),
        most(most) {}
  int operator()(const char* name) const {
    return static_cast<int>(json.at(name, what).integer(name, 1, most));
  }
  const std::string what;
  const Json json;
  const int most;
};

}  // namespace

void keep_tokenizer(const nn::Tokenizer& tokenizer, Notes& notes, int vocab) {
  require_fitting(tokenizer.vocab(), vocab);
  notes[kNote] = nn::to_string(tokenizer);
}

std::shared_ptr<const nn::Tokenizer> tokenizer_of(const Notes& notes, int vocab) {
  const auto note = notes.find(kNote);
  if (note == notes.end()) return nullptr;
  auto tokenizer = nn::tokenizer_from_string(note->second, "the checkpoint's note \"tokenizer\"");
  require_fitting(tokenizer->vocab(), vocab);
  return tokenizer;
}

PromptCodec codec_of(const attention::ModelConfig& config, const Notes& notes) {
  const auto make = [&]() -> PromptCodec {
    if (config.patch_inputs > 0) {
      const auto images = notes.find(kImages);
      if (images == notes.end())
        throw Error(
            "the checkpoint does not say what images it reads; use one of //cmd:train, or import it again");
      const NumbersOfNote note(images->second, kImages, kMaxPixels);
      return PromptCodec(attention::PatchGrid{note("height"), note("width"), note("patch"), note("channels")},
                         config.classes);
    }
    if (const auto recall = notes.find(kRecall); recall != notes.end()) {
      const NumbersOfNote note(recall->second, kRecall, kMaxSymbols);
      const nn::RecallOptions options{note("keys"), note("values"), note("pairs"), note("length")};
      options.validate();
      require_fitting(options.keys + options.values, config.vocab);  // before their names are made
      return PromptCodec(options);
    }
    auto tokenizer = tokenizer_of(notes, config.vocab);
    if (!tokenizer)
      throw Error(
          "the checkpoint does not say what its tokens are; use one of //cmd:train, or import it with "
          "--tokenizer");
    return PromptCodec(std::move(tokenizer), config.classes);
  };
  PromptCodec codec = make();
  codec.require_fitting(config);
  return codec;
}

void write_notes(const PromptCodec& codec, Notes& notes, int vocab) {
  Json json;
  if (codec.is_recall()) {
    const nn::RecallOptions& recall = codec.recall();
    json["keys"] = recall.keys;
    json["values"] = recall.values;
    json["pairs"] = recall.pairs;
    json["length"] = recall.length;
    notes[kRecall] = json.dump(0);
  } else if (codec.reads_images()) {
    const attention::PatchGrid& images = codec.images();
    json["height"] = images.height;
    json["width"] = images.width;
    json["patch"] = images.patch;
    json["channels"] = images.channels;
    notes[kImages] = json.dump(0);
  } else {
    keep_tokenizer(*codec.tokenizer(), notes, vocab);
  }
}

}  // namespace psm::cmd
