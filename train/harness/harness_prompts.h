// The prompts that a model reads for a task's example, and the tokens that are scored.
//
//     kLastWord    context | " " continuation
//     kAnswers     query "\nAnswer:" | " " choice          white space at the query's end is left out
//     kReferents   option | " " continuation
//
// The part after the bar is scored. K solved examples of the same file may come first ("K shots"), each
// followed by an empty line. These are the harness's prompts (its task files of version 0.4, lm_eval/tasks;
// its delimiters " " and "\n\n"). The harness takes shots from a task's training examples if there are any.
// Files here have none, so shots come from the other examples of the file.
//
// Tokens are made as in the harness's _encode_pair (lm_eval/api/model.py). ASCII white space at the context's
// end belongs to the continuation. Context and continuation are encoded as one text. With n the number of
// tokens of the context alone, the tokens after the first n are the continuation's. A tokenizer's start token
// comes first. If all this is longer than the model reads, it is cut from the left, the start token first.
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

// Draws `count` different examples other than `which`, uniformly from 0 .. examples - 1, for each pair of
// seed and `which`. Throws psm::Error if there are too few.
std::vector<size_t> draw_shots(size_t examples, size_t which, size_t count, uint64_t seed);

struct EncodedPrompt {
  std::vector<int> tokens;
  size_t scored = 0;  // the last ones; 1 <= scored < tokens.size()
  bool cut = false;   // was the context too long?
};

// Returns at most context + 1 tokens; the last one is predicted and not read. Returns nullopt if the
// continuation alone has more than `context` tokens. Throws psm::Error if the tokenizer cannot encode the
// text, or if context or continuation has no token.
std::optional<EncodedPrompt> encode_prompt(const Prompt& prompt, const nn::Tokenizer& tokenizer, int context);

}  // namespace psm::train
