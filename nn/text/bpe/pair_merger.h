// The inner step of byte-pair encoding. As long as two neighbours have a merge, the pair of least rank is
// merged, the leftmost of equals.
//
// With a list for the row and a heap for the candidates, n tokens take O(n log n). An object keeps its memory
// between calls and belongs to one thread.
#pragma once

#include <algorithm>
#include <vector>

namespace psm::nn {

struct Merge {
  int rank = 0;    // merges of lower rank come first
  int token = -1;  // what the two become; -1: they have no merge
};

class PairMerger {
 public:
  // find(left, right) -> Merge. It must depend on the two tokens alone.
  template <typename Find>
  void run(std::vector<int>& tokens, const Find& find) {
    const int count = static_cast<int>(tokens.size());
    row_.clear();
    heap_.clear();
    for (int i = 0; i < count; ++i) row_.push_back({tokens[i], i - 1, i + 1 < count ? i + 1 : -1});
    for (int i = 0; i + 1 < count; ++i) consider(i, find);
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate best = heap_.back();
      heap_.pop_back();
      Node& left = node(best.at);
      // One of the two has meanwhile been merged with another.
      if (left.token != best.left || left.next < 0 || node(left.next).token != best.right) continue;
      Node& right = node(left.next);
      left.token = best.token;
      left.next = right.next;
      right.token = -1;
      if (left.next >= 0) node(left.next).previous = best.at;
      if (left.previous >= 0) consider(left.previous, find);
      if (left.next >= 0) consider(best.at, find);
    }
    size_t kept = 0;
    for (int i = 0; i >= 0 && i < count; i = node(i).next) tokens[kept++] = node(i).token;
    tokens.resize(kept);
  }

 private:
  struct Node {
    int token, previous, next;  // -1: merged away; no neighbour
  };
  struct Candidate {
    int rank, at;            // the left token's place in the row
    int left, right, token;  // what the two were, and what they become
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : at > other.at;
    }
  };

  Node& node(int i) { return row_[i]; }

  template <typename Find>
  void consider(int at, const Find& find) {
    const int left = node(at).token, right = node(node(at).next).token;
    const Merge merge = find(left, right);
    if (merge.token < 0) return;
    heap_.push_back({merge.rank, at, left, right, merge.token});
    std::push_heap(heap_.begin(), heap_.end());
  }

  std::vector<Node> row_;
  std::vector<Candidate> heap_;
};

}  // namespace psm::nn
