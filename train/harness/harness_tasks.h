// Tasks of the EleutherAI language model evaluation harness (github.com/EleutherAI/lm-evaluation-harness), on
// which tab. pile compares models, and the files of their examples.
//
// An example has a few candidates, each a context c and a continuation y; number `gold` is right. Each line
// of a file is an example, a JSON object of one of three forms. Other members are ignored:
//
//     kLastWord   {"context", "continuation"}                   one candidate: is it what the model would write?
//     kAnswers    {"query", "choices", "gold"}                  one context, a continuation for each choice
//     kReferents  {"context_options", "continuation", "gold"}   a context for each option, one continuation: "partial
//                                                               scoring" of Trinh and Le, arXiv 1806.02847
//
// The texts here are those of the file; harness_prompt() makes what a model reads of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/bpe/tokenizer.h"
#include "train/evaluation/evaluation.h"

namespace psm::train {

enum class TaskForm { kLastWord, kAnswers, kReferents };

struct HarnessTask {
  std::string_view name;  // its file is NAME.jsonl
  TaskForm form;
  bool normalised = false;  // is acc_norm reported too?
};

// All known tasks: lambada_openai, arc_easy, arc_challenge, piqa, sciq, logiqa, wsc (SuperGLUE's), winogrande,
// winograd_wsc (the harness's wsc273). A query is what the harness's task shows before "\nAnswer:", and `choices` are
// in its order: sciq's has the support and the right answer last, logiqa's names the choices, and wsc's choices are
// "no", "yes".
std::span<const HarnessTask> harness_tasks();
// Throws psm::Error that names the known tasks.
const HarnessTask& harness_task_named(std::string_view name);

struct TaskExample {
  int line = 0;                            // of the file, from 1
  std::vector<std::string> contexts;       // one of all candidates, or one of each
  std::vector<std::string> continuations;  // likewise
  size_t gold = 0;

  size_t candidates() const { return std::max(contexts.size(), continuations.size()); }
  const std::string& context(size_t candidate) const { return of(contexts, candidate); }
  const std::string& continuation(size_t candidate) const { return of(continuations, candidate); }

 private:
  static const std::string& of(const std::vector<std::string>& texts, size_t candidate) {
    return texts[texts.size() == 1 ? 0 : candidate];
  }
};

// Parses the examples of a file's text. Messages begin with `what`. Throws psm::Error that names the line if
// it is not JSON of this form, is longer than 1 MiB or not UTF-8, has a text of white space alone, fewer than
// 2 or more than 32 candidates, or a gold that is not one of them. Throws also if there are no examples, or
// more than 100,000.
std::vector<TaskExample> parse_task(const HarnessTask& task, std::string_view text, const std::string& what);

// Reads the file at `path`, at most 64 MiB.
std::vector<TaskExample> read_task(const HarnessTask& task, const std::string& path);

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

// A model's figures on a task, as the evaluation harness defines them (lm_eval/api/task.py and metrics.py of
// its version 0.4). With l_j the log-likelihood of candidate j's continuation, and n examples:
//
//     acc          share of examples with argmax_j l_j = gold, the first of equals; for kLastWord the share whose
//                  continuation has the likeliest tokens only
//     acc_norm     the same with l_j / (characters of choice j); kAnswers only
//     perplexity   exp(-mean l); kLastWord only
//
//     standard error of a share a   sqrt(a (1 - a) / (n - 1))
//     of the perplexity P           P s / sqrt(n), s the standard deviation of l (the harness draws bootstrap samples)
//
// Chance is the figure of a uniform guess: 1 / candidates, or for kLastWord a uniform distribution over the
// model's tokens. An example with a continuation longer than the model's context is left out. A likelihood
// that is not a number loses against every number, and counts as -infinity in the perplexity.

struct HarnessOptions {
  size_t shots = 0;
  size_t limit = 0;   // score the first so many examples only; 0: all. Shots come from all of them
  uint64_t seed = 1;  // of the shots
};

struct ExampleScore {
  bool correct = false, correct_normalised = false;
  double log_likelihood = 0;  // of the right continuation
  double tokens = 0;          // of the right continuation
  size_t candidates = 0;
};

struct HarnessMetric {
  std::string name;
  double value = 0;
  double standard_error = 0;  // NaN of a single example
  double chance = 0;
};

struct HarnessScores {
  std::vector<std::optional<ExampleScore>> examples;  // in the order of the file; nothing: left out
  size_t cut = 0;                                     // examples whose context was too long
  size_t not_a_number = 0;                            // likelihoods

  size_t scored() const;
};

// `context` is that of the scoring model. Throws psm::Error with `what` and the line if there are not enough
// examples for the shots, or if a text cannot be encoded. Shows a progress bar.
HarnessScores score_task(const HarnessTask& task, std::span<const TaskExample> examples,
                         const std::string& what, const nn::Tokenizer& tokenizer, int context,
                         const ScoreTexts& score, const HarnessOptions& options);

// Throws psm::Error if no example was scored.
std::vector<HarnessMetric> harness_metrics(const HarnessTask& task, const HarnessScores& scores, int vocab);

}  // namespace psm::train
