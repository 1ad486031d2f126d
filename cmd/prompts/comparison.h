// Figures for the distance between the encrypted model's logits and its twin's, over the scored positions and all
// symbols.
#pragma once

#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/prompts/logits.h"
#include "cmd/prompts/prompts.h"

namespace psm::cmd {

// Selects the rows of the scored positions of the prompts; `rows` has one for each position.
LogitRows scored_rows(const PromptCodec& codec, const std::vector<std::vector<int>>& prompts,
                      const LogitRows& rows);

// At one position, of the clear logits z and the decrypted ones y.
struct PositionComparison {
  bool same = false;                        // argmax y = argmax z
  double margin = 0;                        // between the two largest of z
  double kl = 0;                            // sum_i p_i log (p_i / q_i), p = softmax z, q = softmax y
  double max_abs = 0, mse = 0, cosine = 0;  // max |y - z|, mean (y - z)^2

  // Whether the margin is more than 4 predicted deviations of a difference of two logits: sqrt(2) times those of one.
  bool clear(double predicted_std) const { return margin > 4 * std::sqrt(2.0) * predicted_std; }
};
PositionComparison compare_position(std::span<const double> clear, std::span<const double> decrypted);

struct Comparison {
  double max_abs = 0, mse = 0, kl = 0;  // of PositionComparison's: the largest, and means over the positions
  double squares = 0;                   // mean of the clear logits'
  double least_cosine = 1;
  int positions = 0, clear_positions = 0;
  int agree = 0, agree_clear = 0;

  double relative_rms() const { return squares > 0 ? std::sqrt(mse / squares) : 0; }
  // The share of positions with the same argmax: of all, and of those that are clear.
  double agreement_all() const { return positions == 0 ? 0 : static_cast<double>(agree) / positions; }
  double agreement() const {
    return clear_positions == 0 ? 0 : static_cast<double>(agree_clear) / clear_positions;
  }
  // One position more, whose clear logits these are.
  void add(const PositionComparison& at, std::span<const double> clear, double predicted_std);
  // Two lines for people.
  std::string text(double predicted_std) const;
  Json json() const;
};

// Rows are positions; each holds one logit a symbol. `predicted_std` is that of the error of one logit.
Comparison compare_logits(std::span<const std::vector<double>> twin,
                          std::span<const std::vector<double>> encrypted, double predicted_std);

}  // namespace psm::cmd
