// The compiler: from a polynomial model to a program's file (ckks/program/file) and its client's (cmd/client), once and
// for all who run it.
//
// It folds the weights, a layer at a time, so that no more than one layer's constants are in memory; places the
// bootstraps and gives every value its level, by nominal costs, so that the same model gives the same file on every
// machine; lists the keys; and runs the program once in the clear, to predict its errors.
#pragma once

#include <string>
#include <vector>

#include "ckks/program/file/program_file.h"
#include "cmd/client/client_file.h"
#include "cmd/deployment/deployment.h"
#include "cmd/prompts/model_tokenizer.h"

namespace psm::cmd {

struct Compiled {
  program::ProgramFile program;
  ClientFile client;
};

// Writes PATH.program and PATH.client for whole passes. `notes`: the checkpoint's. Throws Error where the model is not
// polynomial, does not fit the ring, or needs more levels than there are.
Compiled compile_pass(const PackedModel& model, const Notes& notes, const ckks::Context& context,
                      const std::string& path);

// Inputs as the model reads them, for a prediction: of a recall model from its task, of others drawn at random.
std::vector<std::vector<int>> sample_prompts(const attention::ModelConfig& config, const Notes& notes,
                                             int count);

}  // namespace psm::cmd
