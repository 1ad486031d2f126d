#include "cmd/reports/range_report.h"

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// Calls visit(layer, name, interval before, interval after) for each input; scores and the inputs of GELU,
// SiLU and sigmoid are symmetric.
template <typename Visit>
void for_each_range(const attention::ModelConfig& config, const attention::Ranges& before,
                    const attention::Ranges& after, Visit&& visit) {
  PSM_CHECK(before.layers.size() == after.layers.size(), before.layers.size(), " ", after.layers.size());
  const bool gated = config.feed_forward == attention::FeedForwardKind::kSwiGlu,
             rms = config.norm == attention::NormKind::kRmsNorm;
  const char* const norm = rms ? "RMSNorm mean squares" : "LayerNorm variances";
  const char* const second_norm = rms ? "second RMSNorm mean squares" : "second LayerNorm variances";
  const auto symmetric = [](double radius) { return approx::Interval{-radius, radius}; };
  for (size_t n = 0; n < before.layers.size(); ++n) {
    const attention::LayerRanges &was = before.layers[n], &is = after.layers[n];
    visit(n, "scores", symmetric(was.score), symmetric(is.score));
    if (is.denominator.hi > 0) visit(n, "denominators", was.denominator, is.denominator);
    visit(n, gated ? "SiLU inputs" : "GELU inputs", symmetric(was.gelu_input), symmetric(is.gelu_input));
    visit(n, norm, was.variance, is.variance);
    if (is.second_variance.hi > 0) visit(n, second_norm, was.second_variance, is.second_variance);
  }
  if (config.classes == 0) return;
  const size_t layers = before.layers.size();
  if (config.has_final_norm()) visit(layers, norm, before.final_variance, after.final_variance);
  if (config.pooler)
    visit(layers, "sigmoid inputs", symmetric(before.pooler_input), symmetric(after.pooler_input));
}

std::string text_of(const approx::Interval& x) {
  return x.lo < 0 ? "|x| <= " + format("%.4g", x.hi) : range_text(x.lo, x.hi);
}

Json json_of(const approx::Interval& x) {
  Json json = Json::Object{{"lo", x.lo}, {"hi", x.hi}};
  if (x.lo > 0) json["ratio"] = x.hi / x.lo;
  return json;
}

std::string ratio_text(const approx::Interval& x) { return x.lo > 0 ? format("%.4g", x.hi / x.lo) : ""; }

}  // namespace

Figures range_figures(const attention::ModelConfig& config, const attention::Ranges& before,
                      const attention::Ranges& after) {
  Figures figures;
  for_each_range(
      config, before, after,
      [&](size_t layer, const char* name, const approx::Interval& was, const approx::Interval& is) {
        figures.row()
            .both("input", "input of", name)
            .json("layer", static_cast<int64_t>(layer))
            .cell("layer", layer == before.layers.size() ? "end" : std::to_string(layer))
            .json("before", json_of(was))
            .cell("before", text_of(was))
            .cell("max/min", ratio_text(was))
            .json("after", json_of(is))
            .cell("after", text_of(is))
            .cell("max/min", ratio_text(is));
      });
  return figures;
}

}  // namespace psm::cmd
