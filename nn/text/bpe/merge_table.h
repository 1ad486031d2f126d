// The tokens of a BPE by their texts, and what two of them merge into.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nn/text/bpe/pair_merger.h"

namespace psm::nn {

using Merges = std::vector<std::pair<int, int>>;  // in order of rank: two ids

class MergeTable {
 public:
  // `tokens` outlives the table; empty ones are none. Throws psm::Error that begins
  // with `what`: two tokens of the same text, a merge of or into something that is no token or that stands
  // twice.
  MergeTable(const std::vector<std::string>& tokens, const Merges& merges, const std::string& what);

  int find(std::string_view text) const;  // -1: no token
  Merge merge(int left, int right) const;

 private:
  std::unordered_map<std::string_view, int> ids_;
  std::unordered_map<uint64_t, Merge> merges_;  // by the two tokens
};

}  // namespace psm::nn
