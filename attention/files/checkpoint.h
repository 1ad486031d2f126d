// A model in one safetensors file.
//
// Tensors have the names and layouts of stored_tensors.h, which are Hugging Face's; the configuration is JSON
// in the metadata ("config"), and so are the measured ranges ("ranges") and the options of the polynomial
// form ("polynomial") where there are any. Everything else that describes the model (its tokenizer, how it
// was trained) is `notes`: strings under keys of their own.
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
  std::optional<Ranges> ranges;                 // as measured
  std::optional<PolynomialOptions> polynomial;  // with the ranges, all that make_polynomial needs
  std::map<std::string, std::string> notes;
};

// Written whole or not at all.
void save_checkpoint(const std::string& path, const Checkpoint& checkpoint);

// Throws psm::Error on a file that is missing, truncated, altered, or not a model of this kind.
Checkpoint load_checkpoint(ByteSource source);
// The same from the file's content; `path` stands in messages.
Checkpoint checkpoint_from(nn::Safetensors file, const std::string& path);

}  // namespace psm::attention
