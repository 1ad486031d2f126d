#include "nn/encrypted/dense_linear.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "ckks/base/error.h"

namespace psm::nn {

using program::Builder;
using program::Value;

namespace {

constexpr int kSources = 2;  // x, conj x

// R F / B: the places that an input fills.
int places_of(const DenseShape& shape, size_t stack) {
  return static_cast<int>(stack) * shape.features / shape.babies;
}

// Regions in the order of the rows, each in the first place where it fits. Nothing if one fits nowhere.
std::optional<DenseShape> with_babies(size_t slots, int features, int babies, std::span<const Stack> columns,
                                      std::span<const Congruence> rows) {
  DenseShape shape{.slots = slots, .features = features, .babies = babies, .regions = {}};
  for (const Stack& stack : columns) shape.places = std::max(shape.places, places_of(shape, stack.size()));
  const int all = static_cast<int>(slots) / features;
  const int length = ((shape.places - 1) * shape.stride() + 2 * features - 1) / features;
  int next = 0;
  for (const Congruence& row : rows) {
    const auto first_from = [&](int place) {
      return place + ((row.residue - place) % row.modulus + row.modulus) % row.modulus;
    };
    int first = first_from(next);
    if (shape.outputs == 0 || first + length > all) {
      ++shape.outputs;
      first = first_from(0);
      if (first + length > all) return std::nullopt;
    }
    shape.regions.push_back({shape.outputs - 1, first});
    next = first + length;
  }
  return shape;
}

// In full key-switches; a product's weight is a vector in memory as well.
double cost(const DenseShape& shape, size_t inputs) {
  constexpr double kProduct = 0.15;
  const double sources = static_cast<double>(kSources * inputs);
  return kHoistedSwitch * sources * (shape.babies - 1) +
         shape.outputs *
             (std::bit_width(static_cast<unsigned>(shape.places)) - 1 + kProduct * sources * shape.babies);
}

}  // namespace

DenseShape choose_dense_shape(size_t slots, int features, std::span<const Stack> columns,
                              std::span<const Congruence> rows) {
  PSM_CHECK(!columns.empty() && !rows.empty(), "a dense map without rows or columns");
  std::optional<DenseShape> best;
  for (int babies = 1; babies <= features; babies *= 2) {
    std::optional<DenseShape> shape = with_babies(slots, features, babies, columns, rows);
    if (shape && (!best || cost(*shape, columns.size()) < cost(*best, columns.size())))
      best = std::move(shape);
  }
  if (!best)
    throw Error(message("a matrix on blocks of ", features, " features does not fit ", slots,
                        " slots; take a larger ring"));
  return *std::move(best);
}

std::vector<Value> dense_sources(Builder& builder, std::span<const Value> x) {
  std::vector<Value> sources;
  for (Value value : x) sources.insert(sources.end(), {value, builder.conjugate(value)});
  return sources;
}

ckks::LinearTransform dense_map(const SlotMatrix& w, const DenseShape& shape,
                                std::span<const Stack> columns) {
  const int F = shape.features, blocks = static_cast<int>(shape.regions.size());
  PSM_CHECK(w.rows == blocks * F, w.rows, " rows in ", blocks, " blocks of ", F);
  // The weights of output o for the source x or conj x of one input, rotated by b.
  const auto weight = [&](int output, const Stack& stack, bool of_conjugate, int baby) {
    if (w.entries.empty()) return ckks::Plain::shape_only(shape.slots, false);
    std::vector<ckks::Complex> slots(shape.slots);
    const int period = static_cast<int>(stack.size()) * F;
    for (int block = 0; block < blocks; ++block) {
      if (shape.regions[block].output != output) continue;
      for (int place = 0; place < places_of(shape, stack.size()); ++place)
        for (int f = 0; f < F; ++f) {
          const int slot = shape.regions[block].first * F + place * shape.stride() + f;
          const int from = (slot + baby) % period, column = stack[from / F];
          if (column < 0) continue;
          slots[slot] = complex_entry(w, block * F + f, column * F + from % F, of_conjugate);
        }
    }
    return ckks::Plain(std::move(slots));
  };
  ckks::LinearTransform map{.outputs = shape.outputs, .terms = {}};
  for (int output = 0; output < shape.outputs; ++output)
    for (size_t input = 0; input < columns.size(); ++input)
      for (int source = 0; source < kSources; ++source)
        for (int b = 0; b < shape.babies; ++b)
          map.terms.push_back({.output = output,
                               .input = static_cast<int>(input) * kSources + source,
                               .baby = b,
                               .weight = weight(output, columns[input], source == 1, b)});
  return map;
}

ckks::Plain region_mask(const DenseShape& shape, int output, std::span<const int> blocks) {
  std::vector<ckks::Complex> slots(shape.slots);
  for (const int block : blocks)
    if (block >= 0 && shape.regions[block].output == output)
      std::fill_n(slots.begin() + shape.regions[block].first * shape.features, shape.features, 1.0);
  return ckks::Plain(std::move(slots));
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

}  // namespace psm::nn
