#include "nn/text/bpe/bpe_trainer.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/progress.h"
#include "nn/text/bpe/byte_level.h"

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

// Pairs of neighbours in the words, whose rows of ids become shorter with each merge.
class PairTrainer {
 public:
  PairTrainer(BpeSpec& spec, const std::vector<Word>& words) : spec_(spec), words_(words) {
    int byte_token[kBytes];
    for (int t = static_cast<int>(spec.added.size()); t < static_cast<int>(spec.tokens.size()); ++t)
      byte_token[static_cast<unsigned char>(spec.tokens[t][0])] = t;
    Pairs found;
    for (size_t w = 0; w < words.size(); ++w) {
      std::vector<int>& row = rows_.emplace_back();
      for (const char byte : words[w].text) {
        row.push_back(byte_token[static_cast<unsigned char>(byte)]);
        if (row.size() > 1) add(found, row[row.size() - 2], row.back(), w);
      }
    }
    apply(found);
  }

  void run(int vocab) {
    Progress progress("merging pairs", vocab);
    while (static_cast<int>(spec_.tokens.size()) < vocab && !queue_.empty()) {
      const auto [_, left, right] = *queue_.begin();
      merge(left, right);
      progress.set(static_cast<double>(spec_.tokens.size()));
    }
  }

 private:
  struct Pair {
    int64_t count = 0;
    std::vector<size_t> words;  // where it stood when the younger of its tokens was made
  };
  typedef std::map<std::pair<int, int>, Pair> Pairs;

  void add(Pairs& changes, int left, int right, size_t word) {
    Pair& pair = changes[{left, right}];
    pair.count += words_[word].count;
    if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
  }

  // Adds the changes' counts. A pair comes up only while the younger of its tokens is made.
  void apply(Pairs& changes) {
    for (auto& [ids, change] : changes) {
      Pair& pair = pairs_[ids];
      queue_.erase({-pair.count, ids.first, ids.second});
      pair.count += change.count;
      if (!change.words.empty()) pair.words = std::move(change.words);
      if (pair.count >= kLeastCount) queue_.insert({-pair.count, ids.first, ids.second});
    }
  }

  void merge(int left, int right) {
    const int token = static_cast<int>(spec_.tokens.size());
    spec_.tokens.push_back(spec_.tokens[left] + spec_.tokens[right]);
    spec_.merges.emplace_back(left, right);
    Pairs changes;
    for (const size_t w : pairs_[{left, right}].words) {
      std::vector<int>& row = rows_[w];
      size_t to = 0;
      for (size_t from = 0; from < row.size(); ++from, ++to) {
        row[to] = row[from];
        if (row[to] != left || from + 1 == row.size() || row[from + 1] != right) continue;
        row[to] = token;
        ++from;
        if (to > 0) {
          changes[{row[to - 1], left}].count -= words_[w].count;
          add(changes, row[to - 1], token, w);
        }
        if (from + 1 < row.size()) {
          changes[{right, row[from + 1]}].count -= words_[w].count;
          add(changes, token, row[from + 1], w);
        }
      }
      row.resize(to);
    }
    apply(changes);
    const auto merged = pairs_.find({left, right});
    queue_.erase({-merged->second.count, left, right});
    pairs_.erase(merged);
  }

  BpeSpec& spec_;
  const std::vector<Word>& words_;
  std::vector<std::vector<int>> rows_;
  Pairs pairs_;
  // -count, left, right: the most frequent first, of equals that of least ids.
  std::set<std::tuple<int64_t, int, int>> queue_;
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
