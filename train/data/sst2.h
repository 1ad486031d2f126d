// SST-2's training file as GLUE has it: phrases of film reviews, positive (1) or negative (0).
//
//     sentence <tab> label                   the heading
//     kids , spirit  <tab> 1                 one phrase a line, words apart by one space
//
// The phrases are the constituents of about 7,000 sentences (Socher et al., EMNLP 2013): one line is often a
// part of another. Constituents of one sentence contain each other or share nothing, so a split tells the
// truth if no phrase to train on contains a held-out one or is a part of it. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "train/data/labelled_text.h"

namespace psm::train {

// Does the text begin with the heading?
bool is_sst2(std::string_view text);

// Phrases in the file's order, without spaces at their ends. Throws psm::Error that begins with `what` and
// names the line if the heading or a line is not of this form, or a phrase is empty.
std::vector<LabelledText> parse_sst2(std::string_view text, const std::string& what);
std::vector<LabelledText> read_sst2(const std::string& path);

// Holds out `held_out` phrases of `least_words` words or more, spread evenly over the file, as whole
// sentences are long and the fragments are not what anyone classifies. Throws psm::Error if there are fewer
// such phrases, or nothing to train on remains.
LabelledSplit split_phrases(const std::vector<LabelledText>& phrases, size_t held_out, size_t least_words);

}  // namespace psm::train
