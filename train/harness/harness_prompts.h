// What a model reads of a task's example, and the tokens of it that are scored.
//
//     kLastWord    context | " " continuation
//     kAnswers     query "\nAnswer:" | " " choice          white space at the query's end is left out
//     kReferents   option | " " continuation
//
// What stands behind the bar is scored. K examples of the same file, solved, may stand in front ("K shots"),
// each followed by an empty line. These are the harness's prompts (its task files of version 0.4,
// lm_eval/tasks; its delimiters " " and "\n\n"). It takes the shots from a task's training examples where
// there are any. Files here have none, so that they come from the other examples of the file.
//
// Tokens, as the harness's _encode_pair (lm_eval/api/model.py): white space at the context's end (of ASCII)
// belongs to the continuation; context and continuation are encoded as one text, and the tokens behind the
// first n are the continuation's, n being the number of tokens of the context alone. A tokenizer's start
// token stands in front. If that is longer than the model reads, it is cut from the left, the start token
// first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/text/tokenizer.h"
#include "train/harness/harness_tasks.h"

namespace psm::train {

struct Prompt {
  std::string context, continuation;
};

// Makes the prompt of one candidate of examples[which], after the examples `shots`.
Prompt harness_prompt(TaskForm form, std::span<const TaskExample> examples, size_t which, size_t candidate,
                      std::span<const size_t> shots);

// `count` different examples other than `which`, drawn uniformly from 0 .. examples - 1 for each pair of seed
// and `which`. Throws psm::Error if there are not so many.
std::vector<size_t> draw_shots(size_t examples, size_t which, size_t count, uint64_t seed);

struct EncodedPrompt {
  std::vector<int> tokens;
  size_t scored = 0;  // the last ones; 1 <= scored < tokens.size()
  bool cut = false;   // was the context too long?
};

// At most context + 1 tokens, the last of which is predicted and not read. Nothing if the continuation alone
// has more than `context`. Throws psm::Error if the tokenizer cannot encode the text or leaves no token of
// context or continuation.
std::optional<EncodedPrompt> encode_prompt(const Prompt& prompt, const nn::Tokenizer& tokenizer, int context);

}  // namespace psm::train
