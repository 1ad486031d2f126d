#include "ckks/linalg/transform_blocks.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace psm::ckks {
namespace {

// Many sums are read and written once a block, so that a block should have all their sources; few sums are
// bound by keys, which want long tiles.
constexpr size_t kManySums = 16;
// Weights of long periods, such as the masks of a long context, do not all fit into memory: 2 GB at 15 limbs.
constexpr size_t kMostValues = size_t{1} << 23;

int sources_per_block(size_t sums, size_t values_per_source, bool divided) {
  const size_t room = std::max<size_t>(1, kMostValues / std::max<size_t>(1, values_per_source));
  return static_cast<int>(std::min<size_t>(room, divided ? kDividedTogether : sums >= kManySums ? 128 : 30));
}

constexpr size_t kMostTogether = 4;  // lone terms: each takes its remainders modulo all primes at once

void find_lone_terms(const LinearTransform& transform, const TransformSchedule& schedule,
                     TransformBlocks& result) {
  std::vector<int> uses(schedule.sources.size()), terms(schedule.accumulators.size());
  for (size_t t = 0; t < transform.terms.size(); ++t) {
    ++uses[schedule.term_source[t]];
    ++terms[schedule.term_accumulator[t]];
  }
  for (const auto& step : schedule.steps) terms[step.from] = terms[step.to] = 0;
  result.is_lone.assign(schedule.accumulators.size(), 0);
  std::map<std::pair<int, bool>, std::vector<int>> by_rotation;
  for (size_t t = 0; t < transform.terms.size(); ++t) {
    const int source = schedule.term_source[t], accumulator = schedule.term_accumulator[t];
    if (transform.divides_sources || uses[source] > 1 || terms[accumulator] != 1) {
      result.summed_sources.push_back(source);
      continue;
    }
    result.is_lone[accumulator] = 1;
    std::vector<int>& together =
        by_rotation[{schedule.sources[source].baby, schedule.sources[source].conjugate}];
    together.push_back(static_cast<int>(t));
    if (together.size() == kMostTogether) result.lone_terms.push_back(std::exchange(together, {}));
  }
  for (auto& [rotation, together] : by_rotation) {
    if (!together.empty()) result.lone_terms.push_back(std::move(together));
  }
  std::vector<int>& sources = result.summed_sources;
  std::sort(sources.begin(), sources.end());
  sources.erase(std::unique(sources.begin(), sources.end()), sources.end());
}

}  // namespace

TransformBlocks transform_blocks(const LinearTransform& transform, const TransformSchedule& schedule) {
  TransformBlocks result;
  find_lone_terms(transform, schedule, result);
  const int source_count = static_cast<int>(result.summed_sources.size());
  std::vector<int> place(schedule.sources.size(), -1);
  for (int s = 0; s < source_count; ++s) place[result.summed_sources[s]] = s;
  size_t values = 0;
  for (size_t t = 0; t < transform.terms.size(); ++t) {
    if (!result.is_lone[schedule.term_accumulator[t]]) values += transform.terms[t].weight.period();
  }
  const int together = sources_per_block(schedule.accumulators.size(),
                                         values / std::max(size_t{1}, result.summed_sources.size()),
                                         transform.divides_sources);
  using Rows = std::map<std::pair<int, size_t>, std::vector<std::pair<int, int>>>;
  std::vector<Rows> rows((source_count + together - 1) / together);  // of each block
  for (size_t t = 0; t < transform.terms.size(); ++t) {
    const int accumulator = schedule.term_accumulator[t], source = place[schedule.term_source[t]];
    if (result.is_lone[accumulator]) continue;
    rows[source / together][{accumulator, transform.terms[t].weight.period()}].push_back(
        {source, static_cast<int>(t)});
  }
  std::vector<char> written(schedule.accumulators.size(), 0);
  for (size_t b = 0; b < rows.size(); ++b) {
    const int first = static_cast<int>(b) * together;
    WeightBlock block{first, std::min(first + together, source_count), {}, {}};
    std::map<std::tuple<bool, size_t, int, std::vector<int>>, size_t> tile_of;
    for (auto& [key, columns] : rows[b]) {
      const auto [accumulator, period] = key;
      std::sort(columns.begin(), columns.end());
      // A source that stands several times, which no compiler writes, comes into a tile each time, so that no tile has
      // more columns than the block has sources.
      for (int time = 0; !columns.empty(); ++time) {
        std::vector<int> sources, terms;
        std::vector<std::pair<int, int>> again;
        for (const auto& [source, term] : columns) {
          if (!sources.empty() && sources.back() == source) {
            again.push_back({source, term});
            continue;
          }
          sources.push_back(source), terms.push_back(term);
        }
        const bool accumulate = written[accumulator] != 0;
        written[accumulator] = 1;
        const auto [it, is_new] =
            tile_of.try_emplace({accumulate, period, time, sources}, block.tiles.size());
        if (is_new) {
          block.tiles.push_back({.sources = sources,
                                 .values_per_limb = 2 * static_cast<int>(period),
                                 .accumulate = accumulate});
        }
        WeightTile& tile = block.tiles[it->second];
        tile.sums.push_back(accumulator);
        tile.terms.insert(tile.terms.end(), terms.begin(), terms.end());
        columns = std::move(again);
      }
    }
    std::stable_partition(block.tiles.begin(), block.tiles.end(),
                          [](const WeightTile& tile) { return !tile.accumulate; });
    result.blocks.push_back(std::move(block));
  }
  return result;
}

size_t largest_block_values(const LinearTransform& transform, const TransformSchedule& schedule) {
  const TransformBlocks blocks = transform_blocks(transform, schedule);
  size_t largest = 0;
  for (const WeightBlock& block : blocks.blocks) {
    size_t values = 0;
    for (const WeightTile& tile : block.tiles)
      values += tile.terms.size() * static_cast<size_t>(tile.values_per_limb / 2);
    largest = std::max(largest, values);
  }
  for (const std::vector<int>& terms : blocks.lone_terms) {
    size_t values = 0;
    for (const int t : terms) values += transform.terms[t].weight.period();
    largest = std::max(largest, values);
  }
  return largest;
}

}  // namespace psm::ckks
