// A model in one safetensors file.
//
// Tensors have the names and layouts of stored_tensors.h, which are Hugging Face's. The metadata has JSON:
// the configuration ("config"), the measured ranges ("ranges") and the options of the polynomial form
// ("polynomial"), if there are any. Everything else about the model (its tokenizer, its training) is in
// `notes`: strings with keys of their own.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "attention/shape/polynomial_options.h"
#include "attention/shape/ranges.h"
#include "attention/shape/weights.h"
#include "nn/files/safetensors.h"

namespace psm::attention {

struct Checkpoint {
  ModelWeights weights;
  std::optional<Ranges> ranges = {};                 // as measured
  std::optional<PolynomialOptions> polynomial = {};  // with the ranges, all that make_polynomial needs
  std::map<std::string, std::string> notes = {};
  LayerReader read_layer =
      {};  // of load_checkpoint and cmd/compiler/shapes.h: `weights` has the layers' norms alone
};

// Written whole or not at all.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Throws psm::Error on a file that is missing, truncated, altered, or not a model of this kind. Unless the whole model
// is wanted, the file is checked without keeping it in memory, and its layers are read by read_layer.
Checkpoint load_checkpoint(ByteSource source, bool whole = true);
// Either from the file's content. Messages name `path`.
Checkpoint checkpoint_from(nn::Safetensors file, const std::string& path);

}  // namespace psm::attention
