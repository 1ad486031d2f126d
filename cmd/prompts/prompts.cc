#include "cmd/prompts/prompts.h"

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/joined.h"
#include "nn/inputs/idx.h"
#include "nn/text/lines.h"
#include "nn/text/sentences.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxPromptBytes = uint64_t{1} << 24;
constexpr int kMostSamples = 4096;

// The first `count` windows of `length` tokens of a text. Throws Error if it has fewer.
std::vector<std::vector<int>> windows_of_text(const PromptCodec& codec, const std::string& file, int count,
                                              int length) {
  if (!codec.tokenizer() || codec.is_classifier())
    throw Error("--prompts with --sample cuts a text for a language model; give one of the two");
  const std::vector<int> tokens =
      codec.tokenizer()->encode(read_file(resolve_user_path(file), kMaxPromptBytes));
  if (tokens.size() / static_cast<size_t>(length) < static_cast<size_t>(count))
    throw Error(message(file, " has ", tokens.size(), " tokens, not ", count, " windows of ", length));
  std::vector<std::vector<int>> windows;
  for (auto begin = tokens.begin(); windows.size() < static_cast<size_t>(count); begin += length)
    windows.emplace_back(begin, begin + length);
  return windows;
}

}  // namespace

void PromptCodec::require_fitting(const attention::Readable& model) const {
  if (images_) {
    const attention::PatchGrid& grid = *images_;
    if (grid.patch < 1 || grid.height % grid.patch != 0 || grid.width % grid.patch != 0 ||
        int64_t{grid.channels} * grid.patch * grid.patch != model.patch_inputs ||
        grid.patches() != model.context - 1)
      throw Error(message("images of ", grid.height, " x ", grid.width, " in patches of ", grid.patch,
                          " and ", grid.channels, " channels are not what the model reads"));
    return;
  }
  if (model.patch_inputs > 0)
    throw Error(
        "the checkpoint does not say what images it reads; use one of //cmd:train, or import it again");
  if (const int symbols = recall_ ? recall_->keys + recall_->values : model.vocab; symbols != model.vocab)
    throw Error(message("the prompts have ", symbols, " symbols and the model ", model.vocab));
  if (tokenizer_ && tokenizer_->vocab() > model.vocab)
    throw Error(message("the tokenizer has ", tokenizer_->vocab(), " tokens and the model ", model.vocab,
                        "; give the tokenizer that belongs to the model"));
}

std::vector<int> PromptCodec::encode(const std::string& text, size_t longest) const {
  if (images_) throw Error("the model reads images; give a file of them with --prompts");
  if (classifies_texts()) return nn::sentence_tokens(*tokenizer_, text, longest);
  if (tokenizer_) return tokenizer_->encode(text);
  std::vector<int> tokens;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t letters = recall_ ? 1 : 0;
    int number = -1;
    const char* end = word.data() + word.size();
    const bool parsed = word.size() > letters &&
                        std::from_chars(word.data() + letters, end, number).ptr == end && number >= 0;
    if (parsed && !recall_ && number < vocab_) {
      tokens.push_back(number);
    } else if (parsed && recall_ && word[0] == 'k' && number < recall_->keys) {
      tokens.push_back(number);
    } else if (parsed && recall_ && word[0] == 'v' && number < recall_->values) {
      tokens.push_back(recall_->keys + number);
    } else if (recall_) {
      throw Error(message("the model knows no symbol '", word, "'; it knows k0 to k", recall_->keys - 1,
                          " and v0 to v", recall_->values - 1));
    } else {
      throw Error(message("'", word.substr(0, 40), "' is no token; they are 0 to ", vocab_ - 1));
    }
  }
  return tokens;
}

void PromptCodec::describe_answers() {
  if (is_classifier()) return;
  answers_.words = !tokenizer_;
  if (recall_) {
    for (int k = 0; k < recall_->keys; ++k) answers_.symbols.push_back("k" + std::to_string(k));
    for (int v = 0; v < recall_->values; ++v) answers_.symbols.push_back("v" + std::to_string(v));
    answers_.first = 2 * recall_->pairs, answers_.step = 2;
  }
  for (int token = 0; token < vocab_; ++token) answers_.symbols.push_back(std::to_string(token));
  for (int token = 0; tokenizer_ && token < tokenizer_->vocab(); ++token)
    answers_.symbols.push_back(visible(tokenizer_->bytes(token)));
  for (int token = 0; token < static_cast<int>(answers_.symbols.size()); ++token)
    answers_.short_symbols.push_back(tokenizer_ && tokenizer_->bytes(token).size() <= 1);
}

std::string PromptCodec::decode(std::span<const int> tokens) const {
  if (tokenizer_) {
    std::vector<int> known(tokens.begin(), tokens.end());
    std::erase_if(known, [&](int token) { return token >= tokenizer_->vocab(); });
    return tokenizer_->decode(known);
  }
  return joined(tokens, " ", [this](int token) { return symbol(token); });
}

std::vector<std::vector<int>> PromptCodec::sample(int count, uint64_t stream) const {
  if (!recall_) throw Error("a model of texts or images has no prompts of its own; give them with --prompts");
  return nn::recall_texts(*recall_, count, stream);
}

std::vector<std::vector<int>> PromptCodec::read_images(const std::string& path,
                                                       std::optional<int> count) const {
  const std::string bytes = read_file(path, nn::kMaxIdxBytes);
  if (bytes.starts_with("\x1f\x8b")) throw Error(message(path, " is compressed; gunzip it first"));
  const nn::IdxArray images = nn::parse_idx(bytes, path);
  const size_t height = static_cast<size_t>(images_->height), width = static_cast<size_t>(images_->width);
  const size_t planes = images.shape.size() == 4 ? images.shape[1] : 1;
  if ((planes != 1 && planes != static_cast<size_t>(images_->channels)) || images.shape.size() < 3 ||
      images.shape.end()[-2] != height || images.shape.end()[-1] != width)
    throw Error(message(path, " has no images of ", height, " x ", width, " and ", images_->channels,
                        " channels, which the model reads"));
  if (!count && images.shape[0] > kMostSamples)
    throw Error(message(path, " has ", images.shape[0], " images; say with --sample how many"));
  std::vector<std::vector<int>> prompts;
  for (size_t i = 0; i < std::min(images.shape[0], static_cast<size_t>(count.value_or(kMostSamples))); ++i) {
    std::vector<int>& prompt = prompts.emplace_back();
    images_->for_each_pixel([&](int channel, int row, int column) {
      prompt.push_back(nn::pixel(images, i, channel, row, column));
    });
  }
  return prompts;
}

PromptExamples::PromptExamples(const attention::Readable& model, const std::vector<std::vector<int>>& prompts)
    : examples_(prompts) {
  if (model.patch_inputs == 0) return;
  for (const std::vector<int>& prompt : prompts) {
    std::vector<float>& patches = patches_.emplace_back();
    for (const int grey : prompt) patches.push_back(attention::patch_input(grey));
  }
  examples_ = attention::Examples(patches_);
}

void require_answerable(const std::vector<std::vector<int>>& prompts, const PromptCodec& codec, int longest) {
  for (const auto& prompt : prompts) {
    const int tokens = static_cast<int>(prompt.size());
    if (tokens < 1 || tokens > longest)
      throw Error(message("a prompt has ", tokens, " tokens, the model takes 1 to ", longest, "; ",
                          tokens < 1                 ? "give it a text"
                          : codec.classifies_texts() ? "shorten it, or give --cut"
                                                     : "shorten it"));
    if (codec.scored_positions(tokens).empty()) {
      throw Error(message("a prompt asks nothing: after ", codec.recall().pairs,
                          " pairs of key and value comes at least one key"));
    }
  }
}

PromptFlags::PromptFlags(Flags& flags, const char* of_seed)
    : flags_(flags),
      prompt_(flags.text("prompt", "", "one prompt: text, or words such as k3 v7 k0 v12 for a recall model")),
      file_(flags.text("prompts", "", "file of prompts, one a line; of images in MNIST's format, unpacked")),
      sample_(flags.integer(
          "sample", 16, 1, kMostSamples,
          "draw so many unseen prompts (recall models); with --prompts the first so many images of the file "
          "(all unless it is given), or windows of a text as long as the model takes")),
      cut_(flags.truth("cut", false,
                       "cut a classifier's texts that are longer than the model takes, as //cmd:train does")),
      seed_(flags.integer("seed", 1, 0, INT64_MAX, of_seed)) {}

std::vector<std::string> PromptFlags::arguments() const {
  std::vector<std::string> arguments{"--seed=" + std::to_string(seed_)};
  if (flags_.given("prompt")) arguments.push_back("--prompt=" + prompt_);
  if (flags_.given("prompts")) arguments.push_back("--prompts=" + file_);
  if (flags_.given("sample")) arguments.push_back("--sample=" + std::to_string(sample_));
  if (cut_) arguments.push_back("--cut");
  return arguments;
}

std::vector<std::vector<int>> PromptFlags::read(const PromptCodec& codec, int longest) const {
  if (cut_ && !codec.classifies_texts())
    throw Error("--cut is for a classifier of texts, as they are cut in its training");
  if (codec.reads_images()) {
    if (!flags_.given("prompts") || flags_.given("prompt"))
      throw Error("the model reads images; give a file of them with --prompts, and with --sample how many");
    return codec.read_images(resolve_user_path(file_), flags_.given("sample")
                                                           ? std::optional(static_cast<int>(sample_))
                                                           : std::nullopt);
  }
  if (flags_.given("prompts") && flags_.given("sample") && !flags_.given("prompt"))
    return windows_of_text(codec, file_, static_cast<int>(sample_), longest);
  if (flags_.given("prompt") + flags_.given("prompts") + flags_.given("sample") != 1) {
    throw Error("exactly one of --prompt, --prompts and --sample is needed");
  }
  const size_t most = cut_ ? static_cast<size_t>(longest) : std::numeric_limits<size_t>::max();
  std::vector<std::vector<int>> prompts;
  if (flags_.given("prompt")) {
    prompts.push_back(codec.encode(prompt_, most));
  } else if (flags_.given("sample")) {
    prompts = codec.sample(static_cast<int>(sample_), seed());
  } else {
    const std::string content = read_file(resolve_user_path(file_), kMaxPromptBytes);
    for (const std::string_view line : nn::lines_of(content))
      if (!line.empty()) prompts.push_back(codec.encode(std::string(line), most));
    if (prompts.empty()) throw Error(message(file_, " holds no prompt"));
  }
  require_answerable(prompts, codec, longest);
  return prompts;
}

}  // namespace psm::cmd
