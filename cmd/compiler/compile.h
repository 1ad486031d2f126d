// The compiler: from a polynomial model to the program's file (ckks/program/file) and the client's file (cmd/client).
//
// It reads and folds the weights layer by layer, so that only one layer is in memory. It places the
// bootstraps and gives every value its level, by nominal costs, so that the same model gives the same plan on
// every machine, and on x86-64 with one C library the same file. It lists the keys, and runs the program in the clear to predict its errors.
#pragma once

#include <string>
#include <vector>

#include "attention/encrypted/encrypted_model.h"
#include "attention/files/checkpoint.h"
#include "ckks/program/file/program_file.h"
#include "ckks/program/machines/twin.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/client/client_file.h"
#include "cmd/prompts/logits.h"
#include "cmd/prompts/prompt_form.h"

namespace psm::cmd {

// A polynomial model and its places in a ring's slots.
struct PackedModel {
  // Throws Error if the checkpoint is not from //cmd:polynomialise, or if the model does not fit the ring.
  // `prompts`: the number of different prompts that share ciphertexts; 0: as many as fit.
  PackedModel(attention::Checkpoint checkpoint, const ckks::Context& context, int prompts = 0);

  attention::PolynomialModel model;
  attention::Packing packing;
};

// The purpose of a program.
enum class CompiledFor {
  kPass,              // whole passes
  kText,              // going on with a text (cmd/generation/text_ends.h), one sequence
  kEncryptedWeights,  // the same, with the weights as ciphertexts: they are in the client's file, none in the program
};

struct Compiled {
  program::ProgramFile program;
  ClientFile client;
  std::string unpredicted;  // why errors could not be predicted; else empty
};

// Writes PATH.program and PATH.client. `notes` are the checkpoint's. `predicts`: whether to predict errors by
// running the program in the clear. Throws Error if the model is not polynomial, does not fit the ring, or
// needs more levels than there are.
Compiled compile_model(const PackedModel& model, const Notes& notes, const ckks::Context& context,
                       CompiledFor purpose, const std::string& path, bool predicts = true);

// A plan's program in the clear on some inputs, and what its encryption would change.
struct TwinPrediction {
  LogitRows logits;
  // The deviation of a logit's error: the program runs once more with the error of every instruction, and this is the
  // root mean square of the difference.
  double predicted_std = 0;
  // By value id of the plan; standard deviations.
  std::vector<program::Observation> observations;
  std::vector<double> own_error, accumulated_error;
  attention::SlotVectors outputs;
};

// `program` is the plan's, with the constants of the run. `on_range` is for the run without errors.
TwinPrediction predict(const program::Plan& plan, const program::Program& program,
                       const ckks::Context& context, const attention::ClientModel& client,
                       const attention::Examples& examples, const attention::SlotVectors& inputs,
                       program::TwinOptions::OnRange on_range);

// Throws Error if the disk of PATH.program has less room than the weights of the layers take, 4 bytes each: compiling a
// large model takes minutes before it would notice.
void require_disk(const attention::ModelConfig& config, const std::string& path);

// The program of a shape, planned in the same way but without weights, to predict its cost. Nothing is
// written, and it cannot run. `packing` has the shape's places in the ring's slots.
program::ProgramFile plan_shape(const attention::ModelConfig& config, const attention::Packing& packing,
                                const attention::PolynomialOptions& options, const ckks::Context& context,
                                CompiledFor purpose);

}  // namespace psm::cmd
