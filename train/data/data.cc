#include "train/data/data.h"

#include <algorithm>
#include <numeric>

namespace psm::train {

void Batch::start_texts(int count, int each) {
  sequences = count, length = each;
  tokens.assign(static_cast<size_t>(count) * static_cast<size_t>(each), 0);
  targets.assign(tokens.size(), -1);
}

size_t Batch::scored() const {
  return static_cast<size_t>(
      std::count_if(targets.begin(), targets.end(), [](int target) { return target >= 0; }));
}

size_t Batch::real_tokens() const {
  if (lengths.empty()) return static_cast<size_t>(sequences) * static_cast<size_t>(length);
  return std::accumulate(lengths.begin(), lengths.end(), size_t{0});
}

namespace {

// What belongs to `count` of the batch's sequences from `first` on; nothing of an empty list.
template <typename Item>
std::span<const Item> part(const std::vector<Item>& items, int sequences, int first, int count) {
  const size_t each = items.size() / static_cast<size_t>(sequences);
  return std::span(items).subspan(first * each, count * each);
}

}  // namespace

attention::ModelInput Batch::input(int first, int count) const {
  return {.length = length,
          .tokens = part(tokens, sequences, first, count),
          .lengths = part(lengths, sequences, first, count),
          .patches = part(patches, sequences, first, count)};
}

attention::Examples Batch::examples() const {
  attention::Examples examples;
  for (int s = 0; s < sequences && !tokens.empty(); ++s) {
    const std::span<const int> all = part(tokens, sequences, s, 1);
    examples.texts.push_back(lengths.empty() ? all : all.first(static_cast<size_t>(lengths[s])));
  }
  for (int s = 0; s < sequences && !patches.empty(); ++s)
    examples.images.push_back(part(patches, sequences, s, 1));
  return examples;
}

std::vector<std::vector<int>> Batch::texts() const {
  std::vector<std::vector<int>> texts;
  for (const std::span<const int> text : examples().texts) texts.emplace_back(text.begin(), text.end());
  return texts;
}

std::span<const int> Batch::scored_by(int first, int count) const {
  return part(targets, sequences, first, count);
}

}  // namespace psm::train
