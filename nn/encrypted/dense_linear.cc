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

// Regions in the order of the rows, each in the first place where it fits. Nothing if one fits nowhere.
std::optional<DenseShape> with_babies(size_t slots, int features, int babies,
                                      std::span<const Congruence> rows) {
  DenseShape shape{.slots = slots, .features = features, .babies = babies, .regions = {}};
  const int all = static_cast<int>(slots) / features;
  const int length = ((shape.places() - 1) * shape.stride() + 2 * features - 1) / features;
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
double cost(const DenseShape& shape, int inputs) {
  constexpr double kProduct = 0.15;
  const double sources = static_cast<double>(kSources) * inputs;
  return kHoistedSwitch * sources * (shape.babies - 1) +
         shape.outputs *
             (std::bit_width(static_cast<unsigned>(shape.places())) - 1 + kProduct * sources * shape.babies);
}

// Returns the factor f for which the real part of f z is this column.
ckks::Complex to_real(const SpreadShape& shape, int column) {
  return column < shape.columns() / 2 ? ckks::Complex(1) : ckks::Complex(0, -1);
}

// Returns the entry of this real column of a stack; 0 for an empty place.
ckks::Complex entry(const SlotMatrix& w, const SpreadShape& shape, int number, int row, int column) {
  const int half = shape.columns() / 2, feature = column % half;
  const int block = shape.block(number, feature / shape.features);
  if (block < 0) return 0;
  const size_t width = 2 * static_cast<size_t>(w.columns);
  const size_t from = 2 * (static_cast<size_t>(block) * shape.features + feature % shape.features) +
                      static_cast<size_t>(column / half);
  const double* upper = w.entries.data() + 2 * static_cast<size_t>(row) * width;
  return {upper[from], upper[width + from]};
}

}  // namespace

DenseShape choose_dense_shape(size_t slots, int features, int inputs, std::span<const Congruence> rows) {
  PSM_CHECK(inputs > 0 && !rows.empty(), "a dense map without rows or columns");
  std::optional<DenseShape> best;
  for (int babies = 1; babies <= features; babies *= 2) {
    std::optional<DenseShape> shape = with_babies(slots, features, babies, rows);
    if (shape && (!best || cost(*shape, inputs) < cost(*best, inputs))) best = std::move(shape);
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

ckks::LinearTransform dense_map(const SlotMatrix& w, const DenseShape& shape) {
  const int F = shape.features, blocks = static_cast<int>(shape.regions.size());
  PSM_CHECK(w.rows == blocks * F, w.rows, " rows in ", blocks, " blocks of ", F);
  // The weights of output o for the source x or conj x of one input, rotated by b.
  const auto weight = [&](int output, int input, bool of_conjugate, int baby) {
    if (w.entries.empty()) return ckks::Plain::shape_only(shape.slots, false);
    std::vector<ckks::Complex> slots(shape.slots);
    for (int block = 0; block < blocks; ++block) {
      if (shape.regions[block].output != output) continue;
      for (int place = 0; place < shape.places(); ++place)
        for (int f = 0; f < F; ++f) {
          const int slot = shape.regions[block].first * F + place * shape.stride() + f;
          slots[slot] = complex_entry(w, block * F + f, input * F + (slot + baby) % F, of_conjugate);
        }
    }
    return ckks::Plain(std::move(slots));
  };
  ckks::LinearTransform map{.outputs = shape.outputs, .terms = {}};
  for (int output = 0; output < shape.outputs; ++output)
    for (int input = 0; input < w.columns / F; ++input)
      for (int source = 0; source < kSources; ++source)
        for (int b = 0; b < shape.babies; ++b)
          map.terms.push_back({.output = output,
                               .input = input * kSources + source,
                               .baby = b,
                               .weight = weight(output, input, source == 1, b)});
  return map;
}

ckks::Plain region_mask(const DenseShape& shape, int output, std::span<const int> blocks) {
  std::vector<ckks::Complex> slots(shape.slots);
  for (const int block : blocks)
    if (shape.regions[block].output == output)
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

int SpreadShape::babies() const { return std::max(1, features / repetitions()); }

int SpreadShape::column(size_t slot) const {
  const size_t in_slots = slot % slots, period = static_cast<size_t>(columns());
  return static_cast<int>((in_slots + in_slots / period * babies()) % period);
}

ckks::LinearTransform spreading(const SpreadShape& shape) {
  const int U = shape.repetitions(), columns = shape.columns();
  const int babies = 1 << (std::bit_width(static_cast<unsigned>(U)) / 2);
  ckks::LinearTransform map;
  for (int u = 0; u < U; ++u) {
    const int baby = u % babies * shape.babies(), giant = u / babies * babies * shape.babies();
    std::vector<ckks::Complex> mask(shape.slots);  // what the giant turns to repetition u
    for (int k = 0; k < columns; ++k) {
      const size_t slot = static_cast<size_t>(u) * columns + k;
      mask[(slot + giant) % shape.slots] = to_real(shape, shape.column(slot));
    }
    map.terms.push_back({.giant = giant, .baby = baby, .weight = ckks::Plain(std::move(mask))});
  }
  return map;
}

ckks::Plain spread(const SpreadShape& shape, int number, std::span<const ckks::Plain> blocks) {
  std::vector<ckks::Complex> slots(shape.slots);
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    const int column = shape.column(slot), feature = column % (shape.columns() / 2);
    const int block = shape.block(number, feature / shape.features);
    if (block < 0) continue;
    if (!blocks[block].has_data()) return ckks::Plain::shape_only(slots.size(), false);
    slots[slot] = to_real(shape, column) * blocks[block].at(feature % shape.features);
  }
  return ckks::Plain(std::move(slots));
}

ckks::LinearTransform spread_map(const SlotMatrix& w, const SpreadShape& shape) {
  const int F = shape.features, blocks = w.rows / F, B = shape.babies();
  PSM_CHECK(w.rows == blocks * F && w.columns == shape.blocks * F, w.rows, " x ", w.columns, " in blocks of ",
            F);
  // Which slots and babies bring a column to a row for the first time.
  std::vector<std::vector<bool>> counts(static_cast<size_t>(B), std::vector<bool>(shape.slots));
  std::vector<bool> seen(static_cast<size_t>(shape.columns()) * F);
  for (size_t slot = 0; slot < shape.slots; ++slot)
    for (int b = 0; b < B; ++b) {
      const size_t pair = slot % F * shape.columns() + shape.column(slot + b);
      counts[b][slot] = !seen[pair];
      seen[pair] = true;
    }
  const auto weight = [&](int block, int number, int b) {
    if (w.entries.empty()) return ckks::Plain::shape_only(shape.slots, false);
    std::vector<ckks::Complex> slots(shape.slots);
    for (size_t slot = 0; slot < shape.slots; ++slot)
      if (counts[b][slot])
        slots[slot] = entry(w, shape, number, block * F + static_cast<int>(slot % F), shape.column(slot + b));
    return ckks::Plain(std::move(slots));
  };
  ckks::LinearTransform map{.outputs = blocks, .terms = {}};
  for (int block = 0; block < blocks; ++block)
    for (int input = 0; input < shape.stacks(); ++input)
      for (int b = 0; b < B; ++b)
        map.terms.push_back({.output = block, .input = input, .baby = b, .weight = weight(block, input, b)});
  return map;
}

}  // namespace psm::nn
