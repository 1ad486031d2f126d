// The flags of tasks and recipes.
#pragma once

#include <string>

#include "attention/files/checkpoint.h"
#include "cmd/terminal/command.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {

// The flags that name a task's data, for the commands that train or score models on it. Once the flags are read, these
// are the files, with the user's paths resolved.
struct TaskFlags : TaskFiles {
  // Throws Error, once the flags are read, on flags that do not go together.
  explicit TaskFlags(Command& flags);
  TaskFlags(const TaskFlags&) = delete;
  TaskFlags& operator=(const TaskFlags&) = delete;
};

// The flags with which //cmd:train changes the recipe of its task.
struct RecipeFlags {
  explicit RecipeFlags(Flags& flags);

  // The requested context; 0: none.
  int context() const { return static_cast<int>(context_); }
  // Whether a fresh model of texts learns masked words.
  bool masked() const { return family_ == "bert" || family_ == "roberta"; }
  uint64_t seed() const { return static_cast<uint64_t>(seed_); }
  // The task's recipe with the changes of the flags, from random weights or from the model `from`. Throws
  // Error on a shape that no model has, on an odd power, and on flags that `from` decides.
  train::RecipeOptions recipe(const Task& task, const attention::Checkpoint* from) const;

 private:
  void set_family(const Task& task, train::RecipeOptions& options) const;
  void set_score_offset(train::RecipeOptions& options) const;
  void set_precision(train::RecipeOptions& options) const;

  const Flags& flags_;
  const std::string &attention_, &family_;
  const int64_t &layers_, &width_, &heads_, &kv_heads_, &ffn_, &context_;
  const bool& paper_;
  const int64_t& power_;
  const std::string& score_offset_;
  const double& epsilon_;
  const int64_t &steps_, &range_steps_, &batch_;
  const double& rate_;
  const std::string& precision_;
  const int64_t& seed_;
};

}  // namespace psm::cmd
