#include "train/data/sst2.h"

#include <unordered_set>

#include "ckks/base/error.h"
#include "nn/text/lines.h"

namespace psm::train {
namespace {

constexpr std::string_view kHeading = "sentence\tlabel";

std::string_view trimmed(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text;
}

// Where each word begins, and the end of the text as if a word began after one more space.
std::vector<size_t> word_begins(std::string_view text) {
  std::vector<size_t> begins = {0};
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == ' ') begins.push_back(i + 1);
  begins.push_back(text.size() + 1);
  return begins;
}

// Calls visit(part) for every run of words, the whole text among them, until it answers true; says whether it
// did.
template <typename Visit>
bool any_part(std::string_view text, const Visit& visit) {
  const std::vector<size_t> begins = word_begins(text);
  for (size_t from = 0; from + 1 < begins.size(); ++from)
    for (size_t to = from + 1; to < begins.size(); ++to)
      if (visit(text.substr(begins[from], begins[to] - 1 - begins[from]))) return true;
  return false;
}

}  // namespace

bool is_sst2(std::string_view text) {
  const std::vector<std::string_view> lines = nn::lines_of(text.substr(0, text.find('\n')));
  return !lines.empty() && lines[0] == kHeading;
}

std::vector<LabelledText> parse_sst2(std::string_view text, const std::string& what) {
  std::vector<LabelledText> phrases;
  int number = 0;
  for (const std::string_view line : nn::lines_of(text)) {
    if (++number == 1) {
      if (line != kHeading)
        throw Error(
            message(what, ", line 1: the heading is not `sentence<tab>label`; give SST-2's train.tsv"));
      continue;
    }
    const size_t tab = line.find('\t');
    const std::string_view phrase = trimmed(line.substr(0, tab));
    const std::string_view label = tab == line.npos ? std::string_view() : line.substr(tab + 1);
    if (phrase.empty() || (label != "0" && label != "1"))
      throw Error(
          message(what, ", line ", number, ": not `phrase<tab>0` or `phrase<tab>1`; give SST-2's train.tsv"));
    phrases.push_back({std::string(phrase), label == "1"});
  }
  if (phrases.empty()) throw Error(message(what, " holds no phrases; give SST-2's train.tsv"));
  return phrases;
}

std::vector<LabelledText> read_sst2(const std::string& path) {
  return parse_sst2(read_labelled_file(path), path);
}

LabelledSplit split_phrases(const std::vector<LabelledText>& phrases, size_t held_out, size_t least_words) {
  std::vector<size_t> long_ones;
  for (size_t n = 0; n < phrases.size(); ++n)
    if (word_begins(phrases[n].text).size() > least_words) long_ones.push_back(n);
  if (long_ones.size() < held_out || held_out == 0)
    throw Error(message("SST-2: ", long_ones.size(), " phrases of ", least_words,
                        " words or more are too few to hold out ", held_out, "; give the whole train.tsv"));
  LabelledSplit split;
  std::unordered_set<std::string_view> whole, parts;  // of the held-out phrases; views into `phrases`
  for (size_t k = 0; k < held_out; ++k) {
    const LabelledText& phrase = phrases[long_ones[k * long_ones.size() / held_out]];
    split.held_out.push_back(phrase);
    whole.insert(phrase.text);
    any_part(phrase.text, [&](std::string_view part) { return parts.insert(part), false; });
  }
  for (const LabelledText& phrase : phrases) {
    const bool shares = parts.contains(phrase.text) ||
                        any_part(phrase.text, [&](std::string_view part) { return whole.contains(part); });
    if (!shares) split.training.push_back(phrase);
  }
  split.dropped = phrases.size() - held_out - split.training.size();
  if (split.training.empty())
    throw Error("SST-2: every phrase shares words with a held-out one; hold out fewer");
  return split;
}

}  // namespace psm::train
