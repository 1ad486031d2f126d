#include "nn/inputs/recall.h"

#include <numeric>
#include <utility>

#include "ckks/base/error.h"

namespace psm::nn {

void RecallOptions::validate() const {
  if (pairs < 1 || keys < pairs || values < 2)
    throw Error(message("recall task with ", pairs, " pairs, ", keys, " keys and ", values,
                        " values: it needs at least as many keys as pairs and two values"));
  const int64_t least = 2 * int64_t{pairs} + 2;
  if (length % 2 != 0 || length < least)
    throw Error(message("recall task of length ", length, ": give an even length of at least ", least,
                        " so that a query follows the pairs"));
}

void draw_recall(const RecallOptions& options, TrainingRandom& random, int* tokens, int* targets) {
  const auto& [keys, values, pairs, length] = options;
  thread_local std::vector<int> order;
  order.resize(static_cast<size_t>(keys));
  std::iota(order.begin(), order.end(), 0);
  for (int i = 0; i < pairs; ++i) {  // the first steps of a Fisher-Yates shuffle: distinct keys
    std::swap(order[i], order[i + random.integer(keys - i)]);
    tokens[2 * i] = order[i];
    tokens[2 * i + 1] = keys + static_cast<int>(random.integer(values));
  }
  for (int i = 2 * pairs; i < length; i += 2) {
    const int asked = static_cast<int>(random.integer(pairs));
    tokens[i] = tokens[2 * asked];
    tokens[i + 1] = targets[i] = tokens[2 * asked + 1];
  }
}

TrainingRandom held_out_recall(uint64_t stream) { return TrainingRandom(0x7265636c6c746573).split(stream); }

std::vector<std::vector<int>> recall_texts(const RecallOptions& options, int count, uint64_t stream) {
  TrainingRandom random = held_out_recall(stream);
  std::vector<std::vector<int>> texts;
  std::vector<int> targets(static_cast<size_t>(options.length));
  for (int s = 0; s < count; ++s) {
    std::vector<int>& tokens = texts.emplace_back(static_cast<size_t>(options.length));
    draw_recall(options, random, tokens.data(), targets.data());
  }
  return texts;
}

}  // namespace psm::nn
