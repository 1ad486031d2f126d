// Shapes of published models, without their weights. Their cost is predicted, or measured with random weights.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/files/checkpoint.h"
#include "attention/shape/config.h"
#include "ckks/base/files/flags.h"

namespace psm::cmd {

// --shape, --tokens and --layers.
struct ShapeFlags {
  // `shape` is the default.
  explicit ShapeFlags(Flags& flags, const std::string& shape = "");
  // Returns a PowerSoftmax model of this shape. Throws Error for an unknown shape, for more layers than it
  // has, and for another number of tokens if that is fixed.
  attention::ModelConfig config() const;
  // Throws Error if --tokens or --layers is given next to a model, which has its own.
  void require_none() const;

  const Flags& flags;
  const std::string& shape;
  const int64_t &tokens, &layers;
};

// A polynomial model of a shape without training: weights drawn by a seed, ranges measured on random sequences. Throws
// Error if the shape reads images.
//
// Weights are random_weights' (attention/shape/weights.h: matrices of standard deviation 1/sqrt(in), 0.044 for d = 512),
// with two changes that give the polynomials the intervals of the model of Pythia 70M's shape that attention/PAPER.md
// describes (denominators span factors of 279 to 957 there):
//   embedding   a row is 6^u times as long, u uniform in [-1/4, 1/4]: variances of tokens span a factor of 6
//   epsilon     1/600 of the largest denominator allowed for: those of 1/x span a factor of about 600
// The reference forward pass measures the ranges on the prompts and further sequences. They are widened for
// sequences that were not measured: scores and arguments of GELU 1.5 times, denominators 1.5^p times.
//
// Its results mean nothing, but it costs as much as a trained model of this shape. Layers are drawn again whenever they
// are needed, so that one at a time is in memory.
struct RandomModel {
  attention::Checkpoint checkpoint;       // with read_layer
  std::vector<std::vector<int>> prompts;  // of config.context tokens each
};

RandomModel random_model(const attention::ModelConfig& config, uint64_t seed, int prompts);

}  // namespace psm::cmd
