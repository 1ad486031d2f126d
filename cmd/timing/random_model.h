// A polynomial model of a given shape without training: weights drawn by a seed, ranges measured on random
// sequences.
//
// Weights are random_weights' (attention/shape/weights.h: matrices of standard deviation 1/sqrt(in), 0.044
// for d = 512), with two changes that give the polynomials the intervals of the model of Pythia 70M's shape that
// attention/PAPER.md describes (variances of tokens span factors of 3.0 to 5.6 there, denominators of 355 to
// 1,001):
//   embedding   a row is 6^u times as long, u uniform in [-1/4, 1/4]: variances of tokens span a factor of 6
//   epsilon     1/600 of the largest denominator: those of 1/x span a factor of about 600
// The ranges are those of the prompts and of further sequences, by the reference forward pass, as any
// model's.
//
// What such a model computes means nothing; what it takes to compute is what a trained one of this shape
// takes.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/files/checkpoint.h"

namespace psm::cmd {

struct RandomModel {
  attention::Checkpoint checkpoint;
  std::vector<std::vector<int>> prompts;  // of config.context tokens each
};

// `sequences`: on which ranges are measured, the prompts among them.
RandomModel random_model(const attention::ModelConfig& config, uint64_t seed, int prompts, int sequences = 4);

}  // namespace psm::cmd
