#include "nn/encrypted/stacked_linear.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::nn {

using program::Builder;
using program::Value;

namespace {

// The plaintext of offset s between one input and one output, moved back by the giant step that follows it.
// Empty if all its entries are zero.
ckks::Plain diagonal(const SlotMatrix& w, const Stack& rows, const Stack& columns, int s, int giant,
                     bool of_b, int features, double share) {
  const int places = static_cast<int>(std::max(rows.size(), columns.size())), period = places * features;
  if (w.entries.empty()) return ckks::Plain::shape_only(static_cast<size_t>(period), false);
  std::vector<ckks::Complex> weight(static_cast<size_t>(period));
  bool any = false;
  for (int r = 0; r < places; ++r)
    for (int f = 0; f < features; ++f) {
      const size_t from = static_cast<size_t>(r + (f + s) / features);
      const int row = rows[static_cast<size_t>(r) % rows.size()], column = columns[from % columns.size()];
      if (row < 0 || column < 0) continue;
      const ckks::Complex entry =
          complex_entry(w, row * features + f, column * features + (f + s) % features, of_b);
      weight[(r * features + f + giant) % period] = share * entry;
      any = any || entry != 0.0;
    }
  return any ? ckks::Plain(std::move(weight)) : ckks::Plain();
}

}  // namespace

std::vector<Value> stacked_sources(Builder& builder, std::span<const Value> x) {
  std::vector<Value> sources;
  for (Value value : x) sources.insert(sources.end(), {value, builder.conjugate(value)});
  return sources;
}

ckks::LinearTransform stacked_map(const SlotMatrix& w, std::span<const Stack> rows,
                                  std::span<const Stack> columns, const LinearSteps& steps, int places) {
  const auto [features, babies] = steps;
  ckks::LinearTransform map{.outputs = static_cast<int>(rows.size()), .terms = {}};
  for (int output = 0; output < map.outputs; ++output) {
    const Stack& row = rows[output];
    const size_t before = map.terms.size();
    for (int giant = 0; giant < features; giant += babies)
      for (size_t input = 0; input < columns.size(); ++input) {
        PSM_CHECK(row.size() == 1 || (columns[input].size() == 1 && places == 1), "a stack of ", row.size(),
                  " blocks from one of ", columns[input].size());
        const double share = static_cast<double>(columns[input].size()) / places;
        for (int source = 0; source < kStackedSources; ++source)
          for (int b = 0; b < babies; ++b) {
            ckks::Plain weight =
                diagonal(w, row, columns[input], giant + b, giant, source == 1, features, share);
            if (weight.period() == 0) continue;
            map.terms.push_back({.output = output,
                                 .giant = giant,
                                 .input = static_cast<int>(input) * kStackedSources + source,
                                 .baby = b,
                                 .weight = std::move(weight)});
          }
      }
    if (map.terms.size() == before)  // an output of zeros still is an output
      map.terms.push_back({.output = output, .weight = ckks::Plain::constant(0)});
  }
  return map;
}

SlotMatrix above_one_another(std::span<const SlotMatrix> matrices) {
  SlotMatrix all{0, matrices[0].columns, {}};
  for (const SlotMatrix& w : matrices) {
    PSM_CHECK(w.columns == all.columns, w.columns, " columns below ", all.columns);
    all.rows += w.rows;
    all.entries.insert(all.entries.end(), w.entries.begin(), w.entries.end());
  }
  return all;
}

ckks::Plain side_by_side(std::span<const ckks::Plain> blocks, int places) {
  const size_t features = blocks[0].period();
  if (!blocks[0].has_data())
    return ckks::Plain::shape_only(features * static_cast<size_t>(places), blocks[0].real());
  std::vector<ckks::Complex> all(features * static_cast<size_t>(places));
  for (size_t k = 0; k < blocks.size(); ++k)
    std::copy(blocks[k].values().begin(), blocks[k].values().end(),
              all.begin() + static_cast<std::ptrdiff_t>(k * features));
  return ckks::Plain(std::move(all));
}

}  // namespace psm::nn
