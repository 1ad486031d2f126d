// The compiler: from a polynomial model to the program's file (ckks/program/file) and the client's file (cmd/client).
//
// It reads and folds the weights layer by layer, so that only one layer is in memory. It places the
// bootstraps and gives every value its level, by nominal costs, so that the same model gives the same file on
// every machine. It lists the keys, and runs the program once in the clear to predict its errors.
#pragma once

#include <string>

#include "attention/encrypted/encrypted_model.h"
#include "attention/files/checkpoint.h"
#include "ckks/program/file/program_file.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/client/client_file.h"
#include "cmd/prompts/model_notes.h"

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
};

// Writes PATH.program and PATH.client. `notes` are the checkpoint's. `predicts`: whether to predict errors by
// running the program in the clear. Throws Error if the model is not polynomial, does not fit the ring, or
// needs more levels than there are.
Compiled compile_model(const PackedModel& model, const Notes& notes, const ckks::Context& context,
                       CompiledFor purpose, const std::string& path, bool predicts = true);

// Throws Error if the disk of PATH.program has less room than the weights of the layers take, 4 bytes each: compiling a
// large model takes minutes before it would notice.
void require_disk(const attention::ModelConfig& config, const std::string& path);

// The program of a shape, planned in the same way but without weights, to predict its cost. Nothing is
// written, and it cannot run. `packing` has the shape's places in the ring's slots.
program::ProgramFile plan_shape(const attention::ModelConfig& config, const attention::Packing& packing,
                                const attention::PolynomialOptions& options, const ckks::Context& context,
                                CompiledFor purpose);

}  // namespace psm::cmd
