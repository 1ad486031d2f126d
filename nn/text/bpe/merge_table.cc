#include "nn/text/bpe/merge_table.h"

#include "ckks/base/error.h"
#include "nn/text/tokenizer.h"

namespace psm::nn {
namespace {

uint64_t pair_key(int left, int right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

}  // namespace

MergeTable::MergeTable(const std::vector<std::string>& tokens, const Merges& merges,
                       const std::string& what) {
  for (int t = 0; t < static_cast<int>(tokens.size()); ++t) {
    if (tokens[t].empty()) continue;
    const auto [other, fresh] = ids_.emplace(tokens[t], t);
    if (!fresh)
      throw Error(
          message(what, ": tokens ", other->second, " and ", t, " are both \"", printable(tokens[t]), "\""));
  }
  const auto known = [&](int t) {
    return t >= 0 && t < static_cast<int>(tokens.size()) && !tokens[t].empty();
  };
  merges_.reserve(merges.size());
  std::string both;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = merges[rank];
    if (!known(left) || !known(right))
      throw Error(message(what, ": merge ", rank, " is of tokens that do not exist"));
    both = tokens[left];
    both += tokens[right];
    const int merged = find(both);
    if (merged < 0)
      throw Error(message(what, ": merge ", rank, " makes \"", printable(both), "\", which is no token"));
    if (!merges_.emplace(pair_key(left, right), Merge{static_cast<int>(rank), merged}).second)
      throw Error(message(what, ": merge ", rank, " into \"", printable(both), "\" stands twice"));
  }
}

int MergeTable::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? -1 : found->second;
}

Merge MergeTable::merge(int left, int right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? Merge{} : found->second;
}

}  // namespace psm::nn
