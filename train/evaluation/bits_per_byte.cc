#include "train/evaluation/bits_per_byte.h"

#include <numbers>

namespace psm::train {

double bytes_per_target(const Batch& batch, const nn::Tokenizer& tokenizer) {
  size_t bytes = 0;
  for (const int target : batch.targets)
    if (target >= 0) bytes += tokenizer.bytes(target).size();
  return batch.scored() == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(batch.scored());
}

double bits_per_byte(const Evaluation& evaluation, double bytes_per_target) {
  return bytes_per_target > 0 ? evaluation.cross_entropy / (std::numbers::ln2 * bytes_per_target) : 0;
}

}  // namespace psm::train
