// The polynomials of a model of any family for people and machines: interval, degree, depth and certified
// error of each; the bound of a whole row of attention; how often values leave the intervals.
//
// Layers count from 0. A classifier's functions after them (1/sqrt of the final norm, the sigmoid of the
// head) have the number of layers as their layer, "end" in tables.
#pragma once

#include <string>
#include <vector>

#include "attention/reference/polynomial_model.h"
#include "attention/reference/range_use.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// Every polynomial, in the order of computation, with its "place": norm, attention, second norm (of a sequential
// block), feed-forward, final norm or head. Attention's rows have no interval: {"function": "attention", "layer",
// "method", "depth", "error_bound", "relative"}.
Figures approximation_figures(const attention::PolynomialModel& model);

Figures range_use_figures(const std::vector<attention::RangeUse>& uses, int layers);
// Advice if values leave: the first function of the network that a value leaves, and the margin that would
// have held it. Later functions follow, because that sequence is lost. Empty if no value leaves.
std::string range_use_advice(const std::vector<attention::RangeUse>& uses);

}  // namespace psm::cmd
