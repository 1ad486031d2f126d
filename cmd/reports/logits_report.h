// A checkpoint's model as trained and, if it has one, its polynomial form: logits on given inputs, for comparison with
// other programs, and figures on the evaluation harness's tasks (train/harness/harness_scores.h).
#pragma once

#include <string>
#include <vector>

#include "attention/files/checkpoint.h"
#include "attention/shape/examples.h"
#include "ckks/base/files/json.h"
#include "cmd/terminal/table.h"
#include "nn/text/bpe/tokenizer.h"
#include "train/harness/harness_scores.h"

namespace psm::cmd {

// {"examples": [{"tokens": [..], "trained": [[..], ..], "polynomial": [[..], ..]}, ..]}: a row of logits for
// each token, or one for a classifier. Images have no "tokens"; "polynomial" is there if the model has that
// form. In fp32 (attention/trained/batched_model.h). Throws Error on an example that the model cannot read or
// whose logits are not finite.
Json logits_json(const attention::Checkpoint& checkpoint, const attention::Examples& examples);

// "lambada_openai,piqa". Throws psm::Error on a name that is empty, unknown or given twice.
std::vector<train::HarnessTask> tasks_from(const std::string& names);

struct TaskReport {
  Table table;                          // task, form, n, metric, value, +- stderr, chance
  std::vector<std::string> notes = {};  // what was left out or cut
  Json json = {};
};

// Reads FOLDER/NAME.jsonl of every task before the first is scored. Throws psm::Error like read_task and score_task.
TaskReport score_tasks(const attention::Checkpoint& checkpoint, const nn::Tokenizer& tokenizer,
                       const std::vector<train::HarnessTask>& tasks, const std::string& folder,
                       const train::HarnessOptions& options);

}  // namespace psm::cmd
