#include "cmd/prompts/prompts.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"
#include "cmd/prompts/model_tokenizer.h"
#include "nn/inputs/idx.h"
#include "nn/text/sentences.h"

namespace psm::cmd {
namespace {

constexpr int kMaxSymbols = 1 << 20;
constexpr int kMaxPixels = 1 << 12;  // of a side of an image

attention::PatchGrid images_from_json(const std::string& text, const attention::ModelConfig& config) {
  const char* what = "the checkpoint's note \"images\"";
  const Json json = parse_json(text, what, {.max_bytes = 4096, .max_depth = 2});
  const auto whole = [](const Json& value, const char* name) {
    return static_cast<int>(value.integer(name, 1, kMaxPixels));
  };
  const auto member = [&](const char* name) { return whole(json.at(name, what), name); };
  attention::PatchGrid grid{member("height"), member("width"), member("patch")};
  if (const Json* channels = json.find("channels")) grid.channels = whole(*channels, "channels");
  const int patch = grid.patch;
  if (grid.height % patch != 0 || grid.width % patch != 0 ||
      int64_t{grid.channels} * patch * patch != config.patch_inputs || grid.patches() != config.context - 1)
    throw Error(message(what, ": images of ", grid.height, " x ", grid.width, " in patches of ", patch,
                        " and ", grid.channels, " channels are not what the model reads"));
  return grid;
}

nn::RecallOptions recall_from_json(const std::string& text) {
  const char* what = "the checkpoint's note \"recall\"";
  const Json json = parse_json(text, what, {.max_bytes = 4096, .max_depth = 2});
  const auto member = [&](const char* name) {
    return static_cast<int>(json.at(name, what).integer(name, 1, kMaxSymbols));
  };
  nn::RecallOptions options;
  options.keys = member("keys");
  options.values = member("values");
  options.pairs = member("pairs");
  options.length = member("length");
  options.validate();
  return options;
}

}  // namespace

PromptCodec::PromptCodec(const attention::ModelConfig& config, const Notes& notes) {
  classes_ = config.classes;
  if (config.patch_inputs > 0) {
    const auto images = notes.find("images");
    if (images == notes.end())
      throw Error(
          "the checkpoint does not say what images it reads; use one of //cmd:train, or import it again");
    images_ = images_from_json(images->second, config);
    describe_answers();
    return;
  }
  const auto recall = notes.find("recall");
  if (recall == notes.end()) {
    tokenizer_ = tokenizer_of(notes, config.vocab);
    if (!tokenizer_) {
      throw Error(
          "the checkpoint does not say what its tokens are; use one of //cmd:train, or import it with "
          "--tokenizer");
    }
    describe_answers();
    return;
  }
  recall_ = recall_from_json(recall->second);
  if (const int symbols = recall_->keys + recall_->values; symbols != config.vocab) {
    throw Error(message("the checkpoint names ", symbols, " symbols, but its model has ", config.vocab));
  }
  describe_answers();
}

void PromptCodec::write_notes(Notes& notes, int vocab) const {
  if (recall_) {
    Json json;
    json["keys"] = recall_->keys;
    json["values"] = recall_->values;
    json["pairs"] = recall_->pairs;
    json["length"] = recall_->length;
    notes["recall"] = json.dump(0);
  } else if (images_) {
    Json json;
    json["height"] = images_->height;
    json["width"] = images_->width;
    json["patch"] = images_->patch;
    if (images_->channels > 1) json["channels"] = images_->channels;
    notes["images"] = json.dump(0);
  } else {
    keep_tokenizer(*tokenizer_, notes, vocab);
  }
}

std::vector<int> PromptCodec::encode(const std::string& text) const {
  if (images_) throw Error("the model reads images; give a file of them with --prompts");
  if (tokenizer_) return is_classifier() ? nn::sentence_tokens(*tokenizer_, text) : tokenizer_->encode(text);
  std::vector<int> tokens;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    int number = -1;
    const char* end = word.data() + word.size();
    const bool parsed =
        word.size() >= 2 && std::from_chars(word.data() + 1, end, number).ptr == end && number >= 0;
    if (parsed && word[0] == 'k' && number < recall_->keys) {
      tokens.push_back(number);
    } else if (parsed && word[0] == 'v' && number < recall_->values) {
      tokens.push_back(recall_->keys + number);
    } else {
      throw Error(message("the model knows no symbol '", word, "'; it knows k0 to k", recall_->keys - 1,
                          " and v0 to v", recall_->values - 1));
    }
  }
  return tokens;
}

void PromptCodec::describe_answers() {
  if (is_classifier()) return;
  if (recall_) {
    for (int k = 0; k < recall_->keys; ++k) answers_.symbols.push_back("k" + std::to_string(k));
    for (int v = 0; v < recall_->values; ++v) answers_.symbols.push_back("v" + std::to_string(v));
    answers_.words = true;
    answers_.first = 2 * recall_->pairs, answers_.step = 2;
  } else {
    for (int token = 0; token < tokenizer_->vocab(); ++token)
      answers_.symbols.push_back(nn::printable(tokenizer_->bytes(token)));
  }
  for (int token = 0; token < static_cast<int>(answers_.symbols.size()); ++token)
    answers_.short_symbols.push_back(!recall_ && tokenizer_->bytes(token).size() <= 1);
}

std::string PromptCodec::decode(std::span<const int> tokens) const {
  if (tokenizer_) {
    std::vector<int> known(tokens.begin(), tokens.end());
    std::erase_if(known, [&](int token) { return token >= tokenizer_->vocab(); });
    return tokenizer_->decode(known);
  }
  std::string out;
  for (const int token : tokens) out += (out.empty() ? "" : " ") + symbol(token);
  return out;
}

std::vector<std::vector<int>> PromptCodec::sample(int count, uint64_t stream) const {
  if (!recall_) throw Error("a model of texts or images has no prompts of its own; give them with --prompts");
  return nn::recall_texts(*recall_, count, stream);
}

std::vector<std::vector<int>> PromptCodec::read_images(const std::string& path, int count) const {
  const nn::IdxArray images = nn::read_idx(path);
  const size_t height = static_cast<size_t>(images_->height), width = static_cast<size_t>(images_->width);
  if (images.shape.size() != 3 || images.shape[1] != height || images.shape[2] != width)
    throw Error(message(path, " has no images of ", height, " x ", width, ", which the model reads"));
  std::vector<std::vector<int>> prompts;
  for (size_t i = 0; i < std::min(images.shape[0], static_cast<size_t>(count)); ++i) {
    std::vector<int>& prompt = prompts.emplace_back();
    images_->for_each_pixel([&](int row, int column) {
      prompt.push_back(
          images.entries[(i * height + static_cast<size_t>(row)) * width + static_cast<size_t>(column)]);
    });
  }
  return prompts;
}

PromptExamples::PromptExamples(const attention::ModelConfig& config,
                               const std::vector<std::vector<int>>& prompts)
    : examples_(prompts) {
  if (config.patch_inputs == 0) return;
  for (const std::vector<int>& prompt : prompts) {
    std::vector<float>& patches = patches_.emplace_back();
    for (const int grey : prompt) patches.push_back(attention::patch_input(grey));
  }
  examples_ = attention::Examples(patches_);
}

std::vector<std::vector<double>> scored_rows(const PromptCodec& codec,
                                             const std::vector<std::vector<int>>& prompts,
                                             const std::vector<std::vector<double>>& rows) {
  std::vector<std::vector<double>> scored;
  size_t begin = 0;
  for (const auto& prompt : prompts) {
    for (const int t : codec.scored_positions(static_cast<int>(prompt.size()))) {
      scored.push_back(rows.at(begin + static_cast<size_t>(t)));
    }
    begin += static_cast<size_t>(codec.answers().rows(static_cast<int>(prompt.size())));
  }
  return scored;
}

std::string numbers_of(std::span<const int> tokens) {
  std::string out;
  for (const int token : tokens) out += (out.empty() ? "" : " ") + std::to_string(token);
  return out;
}

std::vector<std::vector<int>> prompts_of_lines(const PromptCodec& codec, const std::string& file) {
  std::vector<std::vector<int>> prompts;
  std::istringstream lines(read_file(resolve_user_path(file), 1 << 24));
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) prompts.push_back(codec.encode(line));
  }
  if (prompts.empty()) throw Error(message(file, " holds no prompt"));
  return prompts;
}

void require_answerable(const std::vector<std::vector<int>>& prompts, const PromptCodec& codec, int longest) {
  for (const auto& prompt : prompts) {
    const int tokens = static_cast<int>(prompt.size());
    if (tokens < 1 || tokens > longest)
      throw Error(message("a prompt has ", tokens, " tokens, the model takes 1 to ", longest, "; ",
                          tokens < 1 ? "give it a text" : "shorten it"));
    if (codec.scored_positions(tokens).empty()) {
      throw Error(message("a prompt asks nothing: after ", codec.recall().pairs,
                          " pairs of key and value comes at least one key"));
    }
  }
}

PromptFlags::PromptFlags(Flags& flags, const char* of_seed)
    : flags_(flags),
      prompt_(flags.text("prompt", "", "one prompt: text, or words such as k3 v7 k0 v12 for a recall model")),
      file_(flags.text("prompts", "", "file of prompts, one a line; of images in MNIST's format")),
      sample_(flags.integer(
          "sample", 16, 1, 4096,
          "draw so many unseen prompts (recall models); with a file of images the first so many")),
      seed_(flags.integer("seed", 1, 0, INT64_MAX, of_seed)) {}

bool PromptFlags::given() const {
  return flags_.given("prompt") || flags_.given("prompts") || flags_.given("sample");
}

std::vector<std::vector<int>> PromptFlags::read(const PromptCodec& codec, int longest) const {
  if (codec.reads_images()) {
    if (!flags_.given("prompts") || flags_.given("prompt"))
      throw Error("the model reads images; give a file of them with --prompts, and with --sample how many");
    return codec.read_images(resolve_user_path(file_), static_cast<int>(sample_));
  }
  if (flags_.given("prompt") + flags_.given("prompts") + flags_.given("sample") != 1) {
    throw Error("exactly one of --prompt, --prompts and --sample is needed");
  }
  std::vector<std::vector<int>> prompts;
  if (flags_.given("prompt")) {
    prompts.push_back(codec.encode(prompt_));
  } else if (flags_.given("sample")) {
    prompts = codec.sample(static_cast<int>(sample_), seed());
  } else {
    prompts = prompts_of_lines(codec, file_);
  }
  require_answerable(prompts, codec, longest);
  return prompts;
}

}  // namespace psm::cmd
