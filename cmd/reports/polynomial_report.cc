#include "cmd/reports/polynomial_report.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

std::string interval_text(const approx::Interval& interval) {
  return "[" + format("%.4g", interval.lo) + ", " + format("%.4g", interval.hi) + "]";
}

std::string layer_text(size_t layer, size_t layers) {
  return layer == layers ? "end" : std::to_string(layer);
}

// Calls visit(layer, place, approximation) for every polynomial of the model, layer by layer; the number of
// layers stands for what comes after them. The first layer's norm may be the client's, who computes it
// exactly.
template <typename Visit>
void for_each_approximation(const attention::PolynomialModel& model, Visit&& visit) {
  const size_t layers = model.layers.size();
  for (size_t layer = 0; layer < layers; ++layer) {
    const attention::LayerApproximations& a = model.layers[layer];
    if (layer > 0 || !model.client_normalises()) visit(layer, "norm", a.inverse_sqrt);
    for (const approx::Approximation& part : a.attention.parts) visit(layer, "attention", part);
    if (a.second_inverse_sqrt) visit(layer, "second norm", *a.second_inverse_sqrt);
    visit(layer, "feed-forward", a.gelu);
  }
  if (model.final_inverse_sqrt) visit(layers, "final norm", *model.final_inverse_sqrt);
  if (model.pooler) visit(layers, "head", *model.pooler);
}

}  // namespace

std::string approximations_table(const attention::PolynomialModel& model) {
  Table table({"function", "layer", "interval", "max/min", "levels", "degree", "error at most"});
  for_each_approximation(model, [&](size_t layer, std::string_view place, const approx::Approximation& a) {
    const approx::Interval domain = a.domain();
    const std::string which = layer_text(layer, model.layers.size());
    table.row({a.name(), place == "second norm" ? which + ", second" : which, interval_text(domain),
               domain.lo > 0 ? format("%.3g", domain.hi / domain.lo) : "", std::to_string(a.depth()),
               std::to_string(a.degree()),
               format("2^%.1f", std::log2(a.error_bound())) +
                   (a.error_kind() == approx::ErrorKind::kRelative ? " rel." : "")});
  });
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    const attention::PolynomialRow& a = model.layers[layer].attention;
    table.row({"attention by " + a.method, std::to_string(layer), "", "", std::to_string(a.levels), "",
               format("2^%.1f", std::log2(a.error_bound)) +
                   (a.error_kind == approx::ErrorKind::kRelative ? " rel." : "")});
  }
  return table.text();
}

Json approximations_json(const attention::PolynomialModel& model) {
  Json out = Json::Array();
  for_each_approximation(model, [&](size_t layer, std::string_view place, const approx::Approximation& a) {
    Json json;
    json["function"] = a.function();
    json["place"] = std::string(place);
    json["method"] = a.method();
    json["layer"] = static_cast<int64_t>(layer);
    json["lo"] = a.domain().lo;
    json["hi"] = a.domain().hi;
    json["depth"] = a.depth();
    json["degree"] = static_cast<int64_t>(a.degree());
    json["error_bound"] = a.error_bound();
    json["relative"] = a.error_kind() == approx::ErrorKind::kRelative;
    json["certificate"] = a.certificate();
    out.push_back(std::move(json));
  });
  for (size_t layer = 0; layer < model.layers.size(); ++layer) {
    const attention::PolynomialRow& a = model.layers[layer].attention;
    Json json;
    json["function"] = "attention";
    json["method"] = a.method;
    json["layer"] = static_cast<int64_t>(layer);
    json["depth"] = a.levels;
    json["error_bound"] = a.error_bound;
    json["relative"] = a.error_kind == approx::ErrorKind::kRelative;
    out.push_back(std::move(json));
  }
  return out;
}

std::string path_table(const std::vector<attention::LayerPath>& paths) {
  Table table({"levels of layer", "attention", "feed-forward", "critical", "1/sqrt(x)", "1/x", "besides"});
  for (size_t layer = 0; layer < paths.size(); ++layer) {
    const attention::PathLevels& longest = paths[layer].critical();
    table.row({std::to_string(layer), std::to_string(paths[layer].attention.total),
               std::to_string(paths[layer].feed_forward.total), std::to_string(longest.total),
               std::to_string(longest.inverse_sqrt), std::to_string(longest.inverse),
               std::to_string(longest.besides())});
  }
  return table.text();
}

Json path_json(const std::vector<attention::LayerPath>& paths) {
  const auto levels = [](const attention::PathLevels& path) {
    Json json;
    json["total"] = path.total;
    json["inverse_sqrt"] = path.inverse_sqrt;
    json["inverse"] = path.inverse;
    json["gelu"] = path.gelu;
    json["besides_inverse_sqrt_and_inverse"] = path.besides();
    return json;
  };
  Json out = Json::Array();
  for (const attention::LayerPath& path : paths) {
    Json json;
    json["attention"] = levels(path.attention);
    json["feed_forward"] = levels(path.feed_forward);
    out.push_back(std::move(json));
  }
  return out;
}

std::string range_use_table(const std::vector<attention::RangeUse>& uses, int layers) {
  Table table({"function", "layer", "interval", "seen", "values", "outside"});
  for (const attention::RangeUse& use : uses) {
    if (use.values == 0) continue;  // the first norm, where it is the client's
    table.row({use.function, layer_text(static_cast<size_t>(use.layer), static_cast<size_t>(layers)),
               interval_text(use.interval), interval_text(use.seen), std::to_string(use.values),
               std::to_string(use.outside)});
  }
  return table.text();
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
              left->function, " of layer ", left->layer, ", seen in ", interval_text(seen));
  if (std::isfinite(margin))
    advice += "; --margin " + format("%.2f", std::ceil(margin * 100 + 1) / 100) + " would have held it";
  return advice + "\n";
}

Json range_use_json(const std::vector<attention::RangeUse>& uses) {
  Json out = Json::Array();
  for (const attention::RangeUse& use : uses) {
    Json json;
    json["function"] = use.function;
    json["layer"] = use.layer;
    json["interval_lo"] = use.interval.lo;
    json["interval_hi"] = use.interval.hi;
    json["seen_lo"] = use.seen.lo;
    json["seen_hi"] = use.seen.hi;
    json["values"] = static_cast<int64_t>(use.values);
    json["outside"] = static_cast<int64_t>(use.outside);
    out.push_back(std::move(json));
  }
  return out;
}

}  // namespace psm::cmd
