// Between what a person types and a model's tokens, for the two kinds of models that //cmd:train makes.
//
//   text     the checkpoint's note "alphabet" lists its bytes; a prompt is text, every position is scored
//   recall   the note "recall" holds the task's sizes; a prompt is words: k0 .. for keys, v0 .. for values, and the
//            positions of the queries are scored
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attention/checkpoint.h"
#include "ckks/base/flags.h"
#include "train/recall_task.h"
#include "train/text_data.h"

namespace psm {

class PromptCodec {
 public:
  // Throws Error if the checkpoint says nothing of its tokens.
  explicit PromptCodec(const Checkpoint& checkpoint);
  explicit PromptCodec(const RecallOptions& options) : recall_(options) {}
  explicit PromptCodec(const Alphabet& alphabet) : alphabet_(alphabet) {}

  bool is_recall() const { return recall_.has_value(); }
  const RecallOptions& recall() const { return *recall_; }

  // Throws Error naming the first word or character that the model lacks.
  std::vector<int> encode(const std::string& text) const;
  std::string decode(std::span<const int> tokens) const;
  std::string symbol(int token) const;  // one token, printable

  // The positions at which a prompt of this length asks for an answer.
  std::vector<int> scored_positions(int length) const;

  // `count` unseen prompts of a recall model; throws Error for a text model.
  std::vector<std::vector<int>> sample(int count, uint64_t stream) const;

  // Do both stand for the same symbols in the same order?
  bool same_symbols(const PromptCodec& other) const;

  // What makes a checkpoint readable for the constructor above.
  void write_notes(Checkpoint& checkpoint) const;

 private:
  std::optional<RecallOptions> recall_;
  std::optional<Alphabet> alphabet_;
};

// --prompt, --prompts and --sample, for the commands that take prompts.
class PromptFlags {
 public:
  explicit PromptFlags(Flags& flags);
  bool given() const;
  // Throws Error unless exactly one of them was given, or if the model cannot take a prompt.
  std::vector<std::vector<int>> read(const PromptCodec& codec) const;

 private:
  const Flags& flags_;
  const std::string& prompt_;
  const std::string& file_;
  const int64_t& sample_;
  const int64_t& seed_;
};

}  // namespace psm
