#include "cmd/range_report.h"

#include "ckks/base/error.h"
#include "cmd/table.h"

namespace psm {
namespace {

// Calls visit(layer, name, interval before, interval after) for each input; scores and GELU's inputs are
// symmetric.
template <typename Visit>
void for_each_range(const Ranges& before, const Ranges& after, Visit&& visit) {
  PSM_CHECK(before.layers.size() == after.layers.size(), before.layers.size(), " ", after.layers.size());
  const auto symmetric = [](double radius) { return Interval{-radius, radius}; };
  for (size_t n = 0; n < before.layers.size(); ++n) {
    const LayerRanges &was = before.layers[n], &is = after.layers[n];
    visit(n, "scores", symmetric(was.score), symmetric(is.score));
    if (is.denominator.hi > 0) visit(n, "denominators", was.denominator, is.denominator);
    visit(n, "GELU inputs", symmetric(was.gelu_input), symmetric(is.gelu_input));
    visit(n, "LayerNorm variances", was.variance, is.variance);
  }
}

std::string interval_text(const Interval& x) {
  if (x.lo < 0) return "|x| <= " + format("%.4g", x.hi);
  return "[" + format("%.4g", x.lo) + ", " + format("%.4g", x.hi) + "]";
}

std::string ratio_text(const Interval& x) { return x.lo > 0 ? format("%.4g", x.hi / x.lo) : ""; }

}  // namespace

std::string range_table(const Ranges& before, const Ranges& after) {
  Table table({"input of", "layer", "before", "max/min", "after", "max/min"});
  for_each_range(before, after, [&](size_t layer, const char* name, const Interval& was, const Interval& is) {
    table.row({name, std::to_string(layer), interval_text(was), ratio_text(was), interval_text(is),
               ratio_text(is)});
  });
  return table.text();
}

Json range_json(const Ranges& before, const Ranges& after) {
  Json out = Json::Array();
  for_each_range(before, after, [&](size_t layer, const char* name, const Interval& was, const Interval& is) {
    Json row;
    row["input"] = name;
    row["layer"] = static_cast<int64_t>(layer);
    for (const auto& [when, x] : {std::pair("before", was), std::pair("after", is)}) {
      row[when]["lo"] = x.lo;
      row[when]["hi"] = x.hi;
      if (x.lo > 0) row[when]["ratio"] = x.hi / x.lo;
    }
    out.push_back(std::move(row));
  });
  return out;
}

}  // namespace psm
