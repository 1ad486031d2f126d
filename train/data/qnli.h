// QNLI's files as GLUE has them: questions about texts of Wikipedia, each beside one of their sentences. Does
// it hold the answer (entailment, 0) or not (not_entailment, 1)?
//
//     index <tab> question <tab> sentence <tab> label         the heading
//     0     <tab> What came .. ? <tab> As of .. <tab> entailment
//
// A question and a sentence may each stand in several lines. Thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "train/data/labelled_text.h"

namespace psm::train {

// Does the text begin with the heading?
bool is_qnli(std::string_view text);

// Pairs in the file's order. Throws psm::Error that begins with `what` and names the line if the heading or a
// line is not of this form.
std::vector<LabelledText> parse_qnli(std::string_view text, const std::string& what);

// Holds out `held_out` pairs, spread evenly over the file; none to train on has a question or a sentence of
// one of them. Throws psm::Error if there are fewer pairs, or nothing to train on remains.
LabelledSplit split_pairs(const std::vector<LabelledText>& pairs, size_t held_out);

}  // namespace psm::train
