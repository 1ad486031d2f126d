// Free ranges of addresses. Neighbours are joined. The owner chooses the unit of sizes. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace psm {

class FreeRanges {
 public:
  // Cuts from the low end of the smallest range that is large enough, the lowest of equals. Returns nullptr
  // if no range is.
  uint8_t* take(size_t bytes) {
    const auto fit = by_size_.lower_bound({bytes, nullptr});
    if (fit == by_size_.end()) return nullptr;
    const auto [size, begin] = *fit;
    if (size > bytes) by_size_.emplace(size - bytes, begin + bytes);  // may throw: first, and nothing is lost
    by_size_.erase({size, begin});
    auto node = by_address_.extract(begin);
    if (size > bytes) {
      node.key() += bytes;
      node.mapped() -= bytes;
      by_address_.insert(std::move(node));
    }
    return begin;
  }

  void add(uint8_t* begin, size_t bytes) {
    const auto next = by_address_.lower_bound(begin);
    const auto previous = next == by_address_.begin() ? by_address_.end() : std::prev(next);
    const bool joins_next = next != by_address_.end() && begin + bytes == next->first;
    const bool joins_previous = previous != by_address_.end() && previous->first + previous->second == begin;
    if (joins_next) {
      bytes += next->second;
      by_size_.erase({next->second, next->first});
      by_address_.erase(next);
    }
    if (joins_previous) {
      begin = previous->first;
      bytes += previous->second;
      by_size_.erase({previous->second, previous->first});
      previous->second = bytes;
    } else {
      by_address_.emplace(begin, bytes);
    }
    by_size_.emplace(bytes, begin);
  }

  // The size of the largest range; 0 of none.
  size_t largest() const { return by_size_.empty() ? 0 : by_size_.rbegin()->first; }

 private:
  std::map<uint8_t*, size_t> by_address_;
  std::set<std::pair<size_t, uint8_t*>> by_size_;
};

}  // namespace psm
