// The score of one predicted token from a row of logits z: ln p, and whether it is the likeliest.
//
//     ln p_target = z_target - ln sum_j e^{z_j}
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

namespace psm::train {

struct TokenScore {
  double log_probability = 0;
  bool greedy = false;  // is it the first of the largest logits? Never if a logit is NaN
};

template <typename Scalar>
TokenScore score_token(std::span<const Scalar> logits, int target) {
  const auto best = std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const Scalar z : logits) sum += std::exp(static_cast<double>(z) - *best);
  return {-(std::log(sum) + *best - logits[target]), best - logits.begin() == target && std::isfinite(sum)};
}

}  // namespace psm::train
