#include "train/data.h"

#include <algorithm>

namespace psm {

std::size_t Batch::scored() const {
  return static_cast<std::size_t>(
      std::count_if(targets.begin(), targets.end(), [](int target) { return target >= 0; }));
}

namespace {

// What belongs to `count` of the batch's sequences from `first` on; nothing of an empty list.
template <typename Item>
std::span<const Item> part(const std::vector<Item>& items, int sequences, int first, int count) {
  const std::size_t each = items.size() / static_cast<std::size_t>(sequences);
  return std::span(items).subspan(first * each, count * each);
}

}  // namespace

ModelInput Batch::input(int first, int count) const {
  return {.length = length,
          .tokens = part(tokens, sequences, first, count),
          .lengths = part(lengths, sequences, first, count),
          .patches = part(patches, sequences, first, count)};
}

std::span<const int> Batch::scored_by(int first, int count) const {
  return part(targets, sequences, first, count);
}

}  // namespace psm
