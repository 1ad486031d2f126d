// Texts with their classes, and files of them as GLUE has them, gzip's or plain. Thread-safe.
//
// SST-2, film reviews, positive (1) or negative (0):
//
//     sentence <tab> label                   the heading
//     kids , spirit  <tab> 1                 one phrase a line, words apart by one space
//
// The phrases are the constituents of about 7,000 sentences (Socher et al., EMNLP 2013): one line is often a
// part of another. Constituents of one sentence contain each other or share nothing, so a split tells the
// truth if no phrase to train on contains a held-out one or is a part of it.
//
// QNLI, questions about texts of Wikipedia, each with one of their sentences. Does it hold the answer
// (entailment, 0) or not (not_entailment, 1)?
//
//     index <tab> question <tab> sentence <tab> label         the heading
//     0     <tab> What came .. ? <tab> As of .. <tab> entailment
//
// A question and a sentence may each stand in several lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace psm::train {

struct LabelledText {
  std::string text;  // two texts with a tab between them, or one
  int label = 0;
};

struct LabelledSplit {
  std::vector<LabelledText> training, held_out;
  size_t dropped = 0;  // neither: they share words with a held-out text
};

// Texts in the file's order; phrases without spaces at their ends. Throws psm::Error that begins with `what`
// and names the line if the heading or a line is not of this form, or a text is empty.
std::vector<LabelledText> parse_sst2(std::string_view text, const std::string& what);
std::vector<LabelledText> parse_qnli(std::string_view text, const std::string& what);

// Holds out `held_out` phrases of `least_words` words or more, spread evenly over the file, as whole
// sentences are long and the fragments are not what anyone classifies. Throws psm::Error if there are fewer
// such phrases, or nothing to train on remains.
LabelledSplit split_phrases(const std::vector<LabelledText>& phrases, size_t held_out, size_t least_words);
// Holds out `held_out` pairs, spread evenly over the file; none to train on has a question or a sentence of
// one of them. Throws as split_phrases.
LabelledSplit split_pairs(const std::vector<LabelledText>& pairs, size_t held_out);

// A file of either kind, as its heading says, and of it a tenth held out, or a thousand texts if that is less;
// of SST-2 phrases of kLeastWords or more. Throws psm::Error that names the file on another one, or on one of
// more than 256 MiB.
inline constexpr size_t kLeastWords = 12;
LabelledSplit read_labelled_split(const std::string& path);

}  // namespace psm::train
