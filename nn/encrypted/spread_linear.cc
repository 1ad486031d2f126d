#include "nn/encrypted/spread_linear.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"

namespace psm::nn {

namespace {

// Returns the factor f for which the real part of f z is this column.
ckks::Complex to_real(const SpreadShape& shape, int column) {
  return column < shape.columns() / 2 ? ckks::Complex(1) : ckks::Complex(0, -1);
}

// Returns the entry of this real column in its stack; 0 for an empty place.
ckks::Complex entry(const SlotMatrix& w, const SpreadShape& shape, const Stack& stack, int row, int column) {
  const int half = shape.columns() / 2, feature = column % half;
  const int block = stack[feature / shape.features];
  if (block < 0) return 0;
  const size_t width = 2 * static_cast<size_t>(w.columns);
  const size_t from = 2 * (static_cast<size_t>(block) * shape.features + feature % shape.features) +
                      static_cast<size_t>(column / half);
  const double* upper = w.entries.data() + 2 * static_cast<size_t>(row) * width;
  return {upper[from], upper[width + from]};
}

}  // namespace

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

ckks::Plain spread(const SpreadShape& shape, const Stack& stack, std::span<const ckks::Plain> blocks) {
  std::vector<ckks::Complex> slots(shape.slots);
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    const int column = shape.column(slot), feature = column % (shape.columns() / 2);
    const int block = stack[feature / shape.features];
    if (block < 0) continue;
    if (!blocks[block].has_data()) return ckks::Plain::shape_only(slots.size(), false);
    slots[slot] = to_real(shape, column) * blocks[block].at(feature % shape.features);
  }
  return ckks::Plain(std::move(slots));
}

ckks::LinearTransform spread_map(const SlotMatrix& w, const SpreadShape& shape,
                                 std::span<const Stack> columns) {
  const int F = shape.features, blocks = w.rows / F, B = shape.babies();
  PSM_CHECK(w.rows == blocks * F, w.rows, " rows in blocks of ", F);
  // Which slots and babies bring a column to a row for the first time.
  std::vector<std::vector<bool>> counts(static_cast<size_t>(B), std::vector<bool>(shape.slots));
  std::vector<bool> seen(static_cast<size_t>(shape.columns()) * F);
  for (size_t slot = 0; slot < shape.slots; ++slot)
    for (int b = 0; b < B; ++b) {
      const size_t pair = slot % F * shape.columns() + shape.column(slot + b);
      counts[b][slot] = !seen[pair];
      seen[pair] = true;
    }
  const auto weight = [&](int block, const Stack& stack, int b) {
    if (w.entries.empty()) return ckks::Plain::shape_only(shape.slots, false);
    std::vector<ckks::Complex> slots(shape.slots);
    for (size_t slot = 0; slot < shape.slots; ++slot)
      if (counts[b][slot])
        slots[slot] = entry(w, shape, stack, block * F + static_cast<int>(slot % F), shape.column(slot + b));
    return ckks::Plain(std::move(slots));
  };
  ckks::LinearTransform map{.outputs = blocks, .terms = {}};
  for (int block = 0; block < blocks; ++block)
    for (size_t input = 0; input < columns.size(); ++input) {
      PSM_CHECK(static_cast<int>(columns[input].size()) == shape.stack, columns[input].size(), " blocks");
      for (int b = 0; b < B; ++b)
        map.terms.push_back({.output = block,
                             .input = static_cast<int>(input),
                             .baby = b,
                             .weight = weight(block, columns[input], b)});
    }
  return map;
}

}  // namespace psm::nn
