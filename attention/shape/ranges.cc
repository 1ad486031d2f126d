#include "attention/shape/ranges.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::attention {
namespace {

Json interval_to_json(approx::Interval interval) { return Json(Json::Array{interval.lo, interval.hi}); }

approx::Interval interval_from_json(const Json& json, const std::string& what) {
  const Json::Array& ends = json.array(what);
  if (ends.size() != 2)
    throw Error(message(what, ": an interval of ", ends.size(), " numbers; give its two ends"));
  const approx::Interval interval{ends[0].number(what), ends[1].number(what)};
  if (!(interval.lo <= interval.hi))
    throw Error(message(what, ": an interval from ", interval.lo, " to ", interval.hi,
                        "; give the lesser end first"));
  return interval;
}

}  // namespace

Ranges join(const Ranges& a, const Ranges& b) {
  PSM_CHECK(a.residual.size() == b.residual.size() && a.layers.size() == b.layers.size(), "ranges of ",
            a.layers.size(), " and ", b.layers.size(), " layers");
  Ranges joined = a;
  for (size_t f = 0; f < a.residual.size(); ++f) joined.residual[f] = std::max(a.residual[f], b.residual[f]);
  for (size_t n = 0; n < a.layers.size(); ++n) {
    const LayerRanges &x = a.layers[n], &y = b.layers[n];
    joined.layers[n] = {.variance = approx::hull(x.variance, y.variance),
                        .denominator = approx::hull(x.denominator, y.denominator),
                        .score = std::max(x.score, y.score),
                        .gelu_input = std::max(x.gelu_input, y.gelu_input),
                        .second_variance = approx::hull(x.second_variance, y.second_variance)};
  }
  joined.final_variance = approx::hull(a.final_variance, b.final_variance);
  joined.pooler_input = std::max(a.pooler_input, b.pooler_input);
  return joined;
}

void check_shape(const Ranges& ranges, const ModelConfig& config) {
  if (ranges.layers.size() != static_cast<size_t>(config.layers) ||
      ranges.residual.size() != static_cast<size_t>(config.width))
    throw Error(message("ranges of ", ranges.layers.size(), " layers and width ", ranges.residual.size(),
                        " for a model of ", config.layers, " layers and width ", config.width,
                        "; measure them again"));
}

Json ranges_to_json(const Ranges& ranges) {
  Json json;
  Json::Array residual, layers;
  for (double x : ranges.residual) residual.emplace_back(x);
  for (const LayerRanges& layer : ranges.layers) {
    Json entry;
    entry["variance"] = interval_to_json(layer.variance);
    entry["denominator"] = interval_to_json(layer.denominator);
    entry["score"] = layer.score;
    entry["gelu_input"] = layer.gelu_input;
    entry["second_variance"] = interval_to_json(layer.second_variance);
    layers.push_back(std::move(entry));
  }
  json["residual"] = std::move(residual);
  json["layers"] = std::move(layers);
  json["final_variance"] = interval_to_json(ranges.final_variance);
  json["pooler_input"] = ranges.pooler_input;
  return json;
}

Ranges ranges_from_json(const Json& json, const ModelConfig& config) {
  const std::string what = "ranges of the model";
  Ranges ranges;
  for (const Json& x : json.at("residual", what).array(what)) ranges.residual.push_back(x.number(what));
  for (const Json& entry : json.at("layers", what).array(what)) {
    ranges.layers.push_back({.variance = interval_from_json(entry.at("variance", what), what),
                             .denominator = interval_from_json(entry.at("denominator", what), what),
                             .score = entry.at("score", what).number(what),
                             .gelu_input = entry.at("gelu_input", what).number(what),
                             .second_variance = interval_from_json(entry.at("second_variance", what), what)});
  }
  ranges.pooler_input = json.at("pooler_input", what).number(what);
  ranges.final_variance = interval_from_json(json.at("final_variance", what), what);
  check_shape(ranges, config);
  return ranges;
}

}  // namespace psm::attention
