#include "cmd/reports/polynomial_report.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

std::string layer_text(size_t layer, size_t layers) {
  return layer == layers ? "end" : std::to_string(layer);
}

std::string error_text(double bound, approx::ErrorKind kind) {
  return power_of_two_text(bound) + (kind == approx::ErrorKind::kRelative ? " rel." : "");
}

}  // namespace

Figures approximation_figures(const attention::PolynomialModel& model) {
  const size_t layers = model.layers.size();
  Figures figures;
  const auto row = [&](size_t layer, std::string_view place, const approx::Approximation& a) {
    const approx::Interval domain = a.domain();
    const std::string which = layer_text(layer, layers);
    figures.row()
        .both("function", "function", a.function(), a.name())
        .json("place", std::string(place))
        .json("method", a.method())
        .both("layer", "layer", static_cast<int64_t>(layer),
              place == "second norm" ? which + ", second" : which)
        .json("lo", domain.lo)
        .json("hi", domain.hi)
        .cell("interval", range_text(domain.lo, domain.hi))
        .cell("max/min", domain.lo > 0 ? format("%.3g", domain.hi / domain.lo) : "")
        .both("depth", "levels", a.depth())
        .both("degree", "degree", static_cast<int64_t>(a.degree()))
        .json("relative", a.error_kind() == approx::ErrorKind::kRelative)
        .both("error_bound", "error at most", a.error_bound(), error_text(a.error_bound(), a.error_kind()))
        .json("certificate", a.certificate());
  };
  // The number of layers stands for what comes after them. The first layer's norm may be the client's, who computes it
  // exactly.
  const bool post_norm = model.weights.config.block == attention::BlockKind::kPostNorm;
  for (size_t layer = 0; layer < layers; ++layer) {
    const attention::LayerApproximations& a = model.layers[layer];
    const auto* norm = inverse_sqrt_at(model, attention::Site::kVariance, static_cast<int>(layer));
    if (norm && !post_norm) row(layer, "norm", *norm);
    for (const approx::Approximation& part : a.attention.parts) row(layer, "attention", part);
    if (norm && post_norm) row(layer, "norm", *norm);
    if (a.second_inverse_sqrt && !post_norm) row(layer, "second norm", *a.second_inverse_sqrt);
    row(layer, "feed-forward", a.gelu);
    if (post_norm) row(layer, "second norm", *a.second_inverse_sqrt);
  }
  if (model.final_inverse_sqrt) row(layers, "final norm", *model.final_inverse_sqrt);
  if (model.pooler) row(layers, "head", *model.pooler);
  for (size_t layer = 0; layer < layers; ++layer) {
    const attention::PolynomialRow& a = model.layers[layer].attention;
    figures.row()
        .both("function", "function", "attention", "attention by " + a.method)
        .json("method", a.method)
        .both("layer", "layer", static_cast<int64_t>(layer))
        .both("depth", "levels", a.levels)
        .json("relative", a.error_kind == approx::ErrorKind::kRelative)
        .both("error_bound", "error at most", a.error_bound, error_text(a.error_bound, a.error_kind));
  }
  return figures;
}

Figures range_use_figures(const std::vector<attention::RangeUse>& uses, int layers) {
  Figures figures;
  for (const attention::RangeUse& use : uses) {
    figures.row()
        .both("function", "function", use.function)
        .both("layer", "layer", use.layer,
              layer_text(static_cast<size_t>(use.layer), static_cast<size_t>(layers)))
        .json("interval_lo", use.interval.lo)
        .json("interval_hi", use.interval.hi)
        .cell("interval", range_text(use.interval.lo, use.interval.hi))
        .json("seen_lo", use.seen.lo)
        .json("seen_hi", use.seen.hi)
        .cell("seen", range_text(use.seen.lo, use.seen.hi))
        .both("values", "values", static_cast<int64_t>(use.values))
        .both("outside", "outside", static_cast<int64_t>(use.outside));
  }
  return figures;
}

std::string range_use_advice(const std::vector<attention::RangeUse>& uses) {
  const auto left =
      std::find_if(uses.begin(), uses.end(), [](const attention::RangeUse& use) { return use.outside > 0; });
  if (left == uses.end()) return "";
  const approx::Interval &measured = left->measured, &seen = left->seen;
  // Intervals of positive arguments are widened to both sides by the factor, others are symmetric.
  const double margin =
      std::max(seen.hi / measured.hi, measured.lo > 0 ? measured.lo / seen.lo : seen.lo / measured.lo);
  std::string advice =
      message("values leave their interval, and what follows in their sequence is lost: first ",
              left->function, " of layer ", left->layer, ", seen in ", range_text(seen.lo, seen.hi));
  if (std::isfinite(margin))
    advice += "; --margin " + format("%.2f", std::ceil(margin * 100 + 1) / 100) + " would have held it";
  return advice + "\n";
}

}  // namespace psm::cmd
