#include "nn/text/bpe/bpe_trainer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <unordered_map>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/progress.h"
#include "nn/text/bpe/byte_level.h"
#include "nn/text/bpe/byte_level_files.h"

namespace psm::nn {
namespace {

constexpr int kBytes = 256;
constexpr int64_t kLeastCount = 2;  // a pair that stands once says nothing of other texts

// The tokens that need no training.
BpeSpec base_spec(const BpeTrainerOptions& options) {
  const size_t least = options.special.size() + kBytes;
  if (options.vocab > kMaxTokens || static_cast<size_t>(std::max(options.vocab, 0)) < least)
    throw Error(message("a vocabulary of ", options.vocab, " tokens: give ", least, " (", kBytes,
                        " bytes and ", options.special.size(), " special tokens) to ", kMaxTokens));
  BpeSpec spec;
  for (const std::string& text : options.special) {
    const int id = static_cast<int>(spec.tokens.size());
    spec.added.push_back({.text = text, .id = id, .special = true});
    take_end(spec.ends, text, id);
    spec.tokens.push_back(text);
  }
  std::vector<std::string> bytes;
  for (int byte = 0; byte < kBytes; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
  // UTF-8 keeps the order of code points.
  std::ranges::sort(bytes, {}, bytes_to_characters);
  spec.tokens.insert(spec.tokens.end(), bytes.begin(), bytes.end());
  return spec;
}

struct Word {
  std::string_view text;
  int64_t count;
};

// Distinct words in order of their first place.
std::vector<Word> count_words(std::string_view text, const Tokenizer& bytes) {
  std::vector<Word> words;
  // Words of `text` itself, for nothing is normalised.
  std::unordered_map<std::string_view, size_t> index;
  bytes.for_each_word(text, [&](std::string_view word) {
    const auto [place, fresh] = index.emplace(word, words.size());
    if (fresh) words.push_back({word, 0});
    ++words[place->second].count;
  });
  return words;
}

class PairTrainer {
 public:
  PairTrainer(BpeSpec& spec, const std::vector<Word>& words) : spec_(spec), words_(words) {
    size_t size = 1;
    for (const Word& word : words) size += word.text.size() + 1;
    if (size > std::numeric_limits<int32_t>::max())
      throw Error(
          message("the text has ", size, " bytes of distinct words, more than 2^31; give a part of it"));
    int byte_token[kBytes];
    for (int t = static_cast<int>(spec.added.size()); t < static_cast<int>(spec.tokens.size()); ++t) {
      const std::string& token = spec.tokens[t];
      byte_token[static_cast<unsigned char>(token[0])] = t;
    }
    row_.reserve(size);
    row_.push_back(kBorder);
    for (size_t w = 0; w < words.size(); ++w) {
      for (const char byte : words[w].text) {
        row_.push_back(byte_token[static_cast<unsigned char>(byte)]);
        const int at = static_cast<int>(row_.size()) - 1;
        if (row(at - 1) >= 0) add({at - 1, static_cast<int>(w)}, row(at - 1), row(at));
      }
      row_.push_back(kBorder);
    }
    queue_fresh();
  }

  void run(int vocab) {
    Progress progress("merging pairs", vocab);
    while (static_cast<int>(spec_.tokens.size()) < vocab && !heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Candidate best = heap_.back();
      heap_.pop_back();
      const auto found = pairs_.find(best.pair);
      if (found->second.count < best.count) {  // other merges took some of its places
        queue(best.pair, found->second.count);
        continue;
      }
      // Out of the map first: merging adds pairs to it.
      const std::vector<Place> places = std::move(found->second.places);
      pairs_.erase(found);
      merge(best.pair, places);
      queue_fresh();
      progress.set(static_cast<double>(spec_.tokens.size()));
    }
  }

 private:
  // Words stand in one row, a border before and behind each. A token's id stands on its first and on its last
  // byte.
  static constexpr int kBorder = -1, kInside = -2;

  struct Place {
    int at, word;
  };
  struct Pair {
    int64_t count = 0;
    std::vector<Place> places;  // where it stood at some time, in order
  };
  struct Candidate {
    int64_t count;
    uint64_t pair;
    bool operator<(const Candidate& other) const {
      return count != other.count ? count < other.count : pair > other.pair;
    }
  };

  static uint64_t key(int left, int right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  int& row(int at) { return row_[at]; }
  int length(int token) const { return static_cast<int>(spec_.tokens[token].size()); }
  int64_t count_of(const Place& place) const { return words_[place.word].count; }

  // All places of a pair come up while the younger of its tokens is made, from left to right.
  void add(const Place& place, int left, int right) {
    Pair& pair = pairs_[key(left, right)];
    if (pair.places.empty()) fresh_.push_back(key(left, right));
    pair.count += count_of(place);
    pair.places.push_back(place);
  }

  // A pair that is being merged has nothing left to count.
  void remove(const Place& place, int left, int right) {
    const auto found = pairs_.find(key(left, right));
    if (found != pairs_.end()) found->second.count -= count_of(place);
  }

  // Merges the pair at the places where it still stands.
  void merge(uint64_t pair, const std::vector<Place>& places) {
    const int left = static_cast<int>(pair >> 32), right = static_cast<int>(pair & 0xffffffff);
    const int left_size = length(left), right_size = length(right);
    const int token = static_cast<int>(spec_.tokens.size());
    spec_.tokens.push_back(spec_.tokens[left] + spec_.tokens[right]);
    spec_.merges.emplace_back(left, right);
    for (const Place& place : places) {
      const int middle = place.at + left_size, end = middle + right_size;
      if (row(place.at) != left || row(middle) != right) continue;
      const int before = row(place.at - 1), behind = row(end);
      if (before >= 0) {
        const Place previous{place.at - length(before), place.word};
        remove(previous, before, left);
        add(previous, before, token);
      }
      if (behind >= 0) {
        remove({middle, place.word}, right, behind);
        add(place, token, behind);
      }
      row(middle - 1) = row(middle) = kInside;
      row(place.at) = row(end - 1) = token;
    }
  }

  void queue(uint64_t pair, int64_t count) {
    if (count < kLeastCount) return;
    heap_.push_back({count, pair});
    std::push_heap(heap_.begin(), heap_.end());
  }

  void queue_fresh() {
    for (const uint64_t pair : fresh_) queue(pair, pairs_[pair].count);
    fresh_.clear();
  }

  BpeSpec& spec_;
  const std::vector<Word>& words_;
  std::vector<int> row_;
  std::unordered_map<uint64_t, Pair> pairs_;
  std::vector<uint64_t> fresh_;  // not in the heap yet
  std::vector<Candidate> heap_;  // every other pair once, with its count or a larger one of before
};

}  // namespace

std::shared_ptr<const Tokenizer> alphabet_of(std::string_view text) {
  BpeSpec spec;
  spec.kind = BpeKind::kAlphabet;
  for (const unsigned char byte : std::set<unsigned char>(text.begin(), text.end()))
    spec.tokens.emplace_back(1, static_cast<char>(byte));
  return std::make_shared<const Tokenizer>(std::move(spec), "an alphabet");
}

BpeSpec train_byte_bpe(std::string_view text, const BpeTrainerOptions& options) {
  BpeSpec spec = base_spec(options);
  const std::vector<Word> words = count_words(text, Tokenizer(spec, "the trained vocabulary"));
  if (words.empty()) throw Error("the text has no words to train a tokenizer on; give one that is not empty");
  PairTrainer(spec, words).run(options.vocab);
  return spec;
}

}  // namespace psm::nn
