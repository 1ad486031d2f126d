#include "train/data/qnli.h"

#include <algorithm>
#include <unordered_set>

#include "ckks/base/error.h"
#include "nn/text/lines.h"

namespace psm::train {
namespace {

constexpr std::string_view kHeading = "index\tquestion\tsentence\tlabel";
constexpr std::string_view kLabels[] = {"entailment", "not_entailment"};

// The parts of a line between its tabs.
std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find('\t', at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return fields;
}

std::string_view question_of(const LabelledText& pair) {
  return std::string_view(pair.text).substr(0, pair.text.find('\t'));
}

std::string_view sentence_of(const LabelledText& pair) {
  return std::string_view(pair.text).substr(pair.text.find('\t') + 1);
}

}  // namespace

bool is_qnli(std::string_view text) {
  const std::vector<std::string_view> lines = nn::lines_of(text.substr(0, text.find('\n')));
  return !lines.empty() && lines[0] == kHeading;
}

std::vector<LabelledText> parse_qnli(std::string_view text, const std::string& what) {
  std::vector<LabelledText> pairs;
  int number = 0;
  for (const std::string_view line : nn::lines_of(text)) {
    if (++number == 1) {
      if (line != kHeading)
        throw Error(message(what,
                            ", line 1: the heading is not `index<tab>question<tab>sentence<tab>label`; "
                            "give a file of QNLI"));
      continue;
    }
    const std::vector<std::string_view> fields = fields_of(line);
    const bool known = fields.size() == 4 && (fields[3] == kLabels[0] || fields[3] == kLabels[1]);
    if (!known || fields[1].empty() || fields[2].empty())
      throw Error(message(what, ", line ", number,
                          ": not an index, a question, a sentence and entailment or not_entailment with tabs "
                          "between; give a file of QNLI"));
    pairs.push_back({message(fields[1], "\t", fields[2]), fields[3] == kLabels[1]});
  }
  if (pairs.empty()) throw Error(message(what, " holds no pairs; give a file of QNLI"));
  return pairs;
}

LabelledSplit split_pairs(const std::vector<LabelledText>& pairs, size_t held_out) {
  if (held_out == 0 || held_out >= pairs.size())
    throw Error(
        message("QNLI: ", pairs.size(), " pairs are too few to hold out ", held_out, "; give a larger file"));
  LabelledSplit split;
  std::unordered_set<std::string_view> questions, sentences;  // views into `pairs`
  for (size_t k = 0; k < held_out; ++k) {
    const LabelledText& pair = pairs[k * pairs.size() / held_out];
    split.held_out.push_back(pair);
    questions.insert(question_of(pair));
    sentences.insert(sentence_of(pair));
  }
  for (const LabelledText& pair : pairs)
    if (!questions.contains(question_of(pair)) && !sentences.contains(sentence_of(pair)))
      split.training.push_back(pair);
  split.dropped = pairs.size() - held_out - split.training.size();
  if (split.training.empty())
    throw Error("QNLI: every pair shares its question or its sentence with a held-out one; hold out fewer");
  return split;
}

}  // namespace psm::train
