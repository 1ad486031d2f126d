// The compiler: from a polynomial model to a program's file (ckks/program/file) and its client's (cmd/client), once and
// for all who run it.
//
// It folds the weights, a layer at a time, so that no more than one layer's constants are in memory; places the
// bootstraps and gives every value its level, by nominal costs, so that the same model gives the same file on every
// machine; lists the keys; and runs the program once in the clear, to predict its errors.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attention/encrypted/encrypted_model.h"
#include "attention/files/checkpoint.h"
#include "ckks/program/file/program_file.h"
#include "cmd/client/client_file.h"
#include "cmd/prompts/model_notes.h"

namespace psm::cmd {

// A polynomial model and its places in a ring's slots.
struct PackedModel {
  // Throws Error if the checkpoint is not one of //cmd:polynomialise, or the model does not fit the ring.
  // `prompts`: how many different ones share the ciphertexts; 0: as many as fit.
  PackedModel(attention::Checkpoint checkpoint, const ckks::Context& context, int prompts = 0);

  attention::PolynomialModel model;
  attention::Packing packing;
};

// What the program is for.
enum class CompiledFor {
  kPass,              // whole passes
  kText,              // going on with a text (cmd/generation/text_ends.h), one sequence
  kEncryptedWeights,  // the same, with the weights as ciphertexts: they are in the client's file, none in the program
};

struct Compiled {
  program::ProgramFile program;
  ClientFile client;
};

// Writes PATH.program and PATH.client. `notes`: the checkpoint's. `predicts`: whether errors are predicted, by running
// the program in the clear. Throws Error where the model is not polynomial, does not fit the ring, or needs more levels
// than there are.
Compiled compile_model(const PackedModel& model, const Notes& notes, const ckks::Context& context,
                       CompiledFor purpose, const std::string& path, bool predicts = true);

// The program of a shape, planned alike but without weights, to predict what it takes: nothing is written, and it cannot
// run. `packing`: of the shape's places in the ring's slots.
program::ProgramFile plan_shape(const attention::ModelConfig& config, const attention::Packing& packing,
                                const attention::PolynomialOptions& options, const ckks::Context& context,
                                CompiledFor purpose);

// Inputs as the model reads them, for a prediction: of a recall model from its task, of others drawn at random.
std::vector<std::vector<int>> sample_prompts(const attention::ModelConfig& config, const Notes& notes,
                                             int count);

}  // namespace psm::cmd
