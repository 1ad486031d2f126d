// The inputs of a model's non-polynomial functions before and after range minimisation, layer by layer: the
// largest |score|, the denominators D of PowerSoftmax, the inputs of GELU or SiLU, the norms' variances or
// mean squares. Then those of a classifier's final norm and sigmoid, whose layer is the number of layers.
#pragma once

#include <string>

#include "attention/shape/ranges.h"
#include "ckks/base/error.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// Functions that the model does not have are left out, and so is a language model's final norm, which the
// client computes exactly.
inline Figures range_figures(const attention::ModelConfig& config, const attention::Ranges& before,
                             const attention::Ranges& after) {
  const size_t layers = before.layers.size();
  PSM_CHECK(layers == after.layers.size(), layers, " ", after.layers.size());
  const auto text_of = [](const approx::Interval& x) {
    return x.lo < 0 ? "|x| <= " + format("%.4g", x.hi) : range_text(x.lo, x.hi);
  };
  const auto ratio_text = [](const approx::Interval& x) {
    return x.lo > 0 ? format("%.4g", x.hi / x.lo) : std::string();
  };
  const auto json_of = [](const approx::Interval& x) {
    Json json = Json::Object{{"lo", x.lo}, {"hi", x.hi}};
    if (x.lo > 0) json["ratio"] = x.hi / x.lo;
    return json;
  };
  Figures figures;
  const auto row = [&](size_t layer, const char* name, const approx::Interval& was,
                       const approx::Interval& is) {
    figures.row()
        .both("input", "input of", name)
        .both("layer", "layer", static_cast<int64_t>(layer), layer == layers ? "end" : std::to_string(layer))
        .both("before", "before", json_of(was), text_of(was))
        .cell("max/min", ratio_text(was))
        .both("after", "after", json_of(is), text_of(is))
        .cell("max/min", ratio_text(is));
  };
  // Scores and the inputs of GELU, SiLU and sigmoid are symmetric.
  const auto symmetric = [&](size_t layer, const char* name, double was, double is) {
    row(layer, name, {-was, was}, {-is, is});
  };
  const bool gated = config.feed_forward == attention::FeedForwardKind::kSwiGlu,
             rms = config.norm == attention::NormKind::kRmsNorm;
  const char* const norm = rms ? "RMSNorm mean squares" : "LayerNorm variances";
  const char* const second_norm = rms ? "second RMSNorm mean squares" : "second LayerNorm variances";
  for (size_t n = 0; n < layers; ++n) {
    const attention::LayerRanges &was = before.layers[n], &is = after.layers[n];
    symmetric(n, "scores", was.score, is.score);
    if (is.denominator.hi > 0) row(n, "denominators", was.denominator, is.denominator);
    symmetric(n, gated ? "SiLU inputs" : "GELU inputs", was.gelu_input, is.gelu_input);
    row(n, norm, was.variance, is.variance);
    if (is.second_variance.hi > 0) row(n, second_norm, was.second_variance, is.second_variance);
  }
  if (config.classes == 0) return figures;
  if (config.head_has_norm())
    row(layers, config.mean_pooling ? "mean squares" : norm, before.final_variance, after.final_variance);
  if (config.pooler) symmetric(layers, "sigmoid inputs", before.pooler_input, after.pooler_input);
  return figures;
}

}  // namespace psm::cmd
