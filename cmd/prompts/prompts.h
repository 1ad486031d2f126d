// Prompts: from typed text to a model's tokens and back.
//
//   text     a prompt is text as in the model's training, without a start token; every position is scored
//   recall   a prompt is words: k0 .. for keys, v0 .. for values; the positions of the queries are scored
//   images   a prompt is the values (0 to 255) of an image, patch by patch
//   numbers  a prompt is the numbers of tokens, "7 12 3", for a shape with random weights
//
// A classifier of texts reads one or two, enclosed by nn/text/sentences.h, and has one scored row of logits,
// its classes. A checkpoint and a client's file say with the same table (prompt_form.h) which
// of these prompts the model has.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/shape/examples.h"
#include "ckks/base/files/flags.h"
#include "cmd/client/answers.h"
#include "nn/inputs/recall.h"
#include "nn/text/bpe/tokenizer.h"

namespace psm::cmd {

class PromptCodec {
 public:
  explicit PromptCodec(const nn::RecallOptions& options) : recall_(options) { describe_answers(); }
  // `classes` of a classifier; 0: a language model.
  explicit PromptCodec(std::shared_ptr<const nn::Tokenizer> tokenizer, int classes = 0)
      : tokenizer_(std::move(tokenizer)), classes_(classes) {
    describe_answers();
  }
  PromptCodec(const attention::PatchGrid& images, int classes) : images_(images), classes_(classes) {}
  // Numbers up to vocab - 1.
  PromptCodec(int vocab, int classes) : vocab_(vocab), classes_(classes) { describe_answers(); }

  bool is_recall() const { return recall_.has_value(); }
  const nn::RecallOptions& recall() const { return *recall_; }
  bool reads_images() const { return images_.has_value(); }
  bool reads_numbers() const { return !recall_ && !tokenizer_ && !images_; }
  bool is_classifier() const { return classes_ > 0; }
  bool classifies_texts() const { return tokenizer_ && classes_ > 0; }
  const attention::PatchGrid& images() const { return *images_; }
  // Null for recall, images and numbers.
  const std::shared_ptr<const nn::Tokenizer>& tokenizer() const { return tokenizer_; }

  // Throws Error that names the first word or character that the model does not know. A classifier's text is cut to
  // `longest` tokens, as in training.
  std::vector<int> encode(const std::string& text, size_t longest = std::numeric_limits<size_t>::max()) const;
  // A model may have more tokens than its tokenizer; their text is empty.
  std::string decode(std::span<const int> tokens) const;
  std::string symbol(int token) const { return answers_.symbol(token); }  // one token, printable
  const Answers& answers() const { return answers_; }
  std::string list(std::span<const int> tokens) const { return answers_.list(tokens); }
  std::vector<int> scored_positions(int length) const { return answers_.scored_positions(length); }

  // Throws Error unless a model of these sizes reads such prompts and answers so.
  void require_fitting(const attention::Readable& model) const;

  // The first `count` images of an IDX file, or all, up to the most that --sample takes; throws Error unless they are of
  // the model's size.
  std::vector<std::vector<int>> read_images(const std::string& path, std::optional<int> count) const;

  // `count` unseen prompts of a recall model; throws Error for a text model.
  std::vector<std::vector<int>> sample(int count, uint64_t stream) const;

 private:
  void describe_answers();

  Answers answers_;
  std::optional<nn::RecallOptions> recall_;
  std::shared_ptr<const nn::Tokenizer> tokenizer_;
  std::optional<attention::PatchGrid> images_;
  int vocab_ = 0, classes_ = 0;
};

// Prompts as the model reads them. The prompts must outlive the object.
class PromptExamples {
 public:
  PromptExamples(const attention::Readable& model, const std::vector<std::vector<int>>& prompts);
  PromptExamples(const PromptExamples&) = delete;
  PromptExamples& operator=(const PromptExamples&) = delete;
  operator const attention::Examples&() const { return examples_; }

 private:
  std::vector<std::vector<float>> patches_;
  attention::Examples examples_;
};

// Throws Error for a prompt without tokens, with more than `longest`, or without a scored position.
void require_answerable(const std::vector<std::vector<int>>& prompts, const PromptCodec& codec, int longest);

// --prompt, --prompts, --sample and --cut, for the commands that take prompts.
class PromptFlags {
 public:
  // `of_seed` says what --seed, declared here, decides.
  explicit PromptFlags(Flags& flags, const char* of_seed = "of --sample; cryptography takes no seed");
  bool given() const {
    return flags_.given("prompt") || flags_.given("prompts") || flags_.given("sample") || flags_.given("cut");
  }
  // The same prompts for another command that takes these flags.
  std::vector<std::string> arguments() const;
  uint64_t seed() const { return static_cast<uint64_t>(seed_); }
  // Throws Error unless exactly one of these flags was given, or a file with a number, and if the model, which takes at
  // most `longest` tokens, cannot read a prompt.
  std::vector<std::vector<int>> read(const PromptCodec& codec, int longest) const;

 private:
  const Flags& flags_;
  const std::string& prompt_;
  const std::string& file_;
  const int64_t& sample_;
  const bool& cut_;
  const int64_t& seed_;
};

}  // namespace psm::cmd
