#include "nn/encrypted/encrypted_linear.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"

namespace psm::nn {

using program::Builder;
using program::Value;

namespace {

// Whether a ciphertext that begins at this feature is one of the last `real`.
bool is_last(int first, int all, int real) { return first >= all - real; }

// What is multiplied with diagonals of A, of B, or of both.
enum class Of { kA, kB, kSum };
struct Source {
  int input = 0;
  bool real = false, of_conjugate = false, wraps = false;  // wraps: rot_{-F}
};

std::vector<Source> sources_of(const SlotMatrix& w, int features) {
  std::vector<Source> sources;
  for (int input = 0; input < w.columns / features; ++input) {
    const bool real = is_last(input * features, w.columns, w.real_columns);
    for (const bool wraps : {false, true}) {
      sources.push_back({input, real, false, wraps});
      if (!real) sources.push_back({input, real, true, wraps});
    }
  }
  return sources;
}

// Diagonal s of the block (output ciphertext, input ciphertext), moved back by the giant step that follows
// it. Empty if all its entries are zero.
ckks::Plain diagonal(const SlotMatrix& w, int output, int input, int s, int giant, Of of, int features) {
  const int first = std::max(0, -s), last = std::min(features, features - s);
  if (w.entries.empty()) {
    size_t entries = 0;
    for (int f = first; f < last; ++f)
      entries += (w.row_used.empty() || w.row_used[output * features + f]) &&
                 (w.column_used.empty() || w.column_used[input * features + f + s]);
    return entries > 0 ? ckks::Plain::shape_only(static_cast<size_t>(features), false, entries)
                       : ckks::Plain();
  }
  std::vector<ckks::Complex> weight(static_cast<size_t>(features));
  bool any = false;
  for (int f = first; f < last; ++f) {
    const int row = output * features + f, column = input * features + f + s;
    ckks::Complex entry = complex_entry(w, row, column, of == Of::kB);
    if (of == Of::kSum) entry += complex_entry(w, row, column, true);
    weight[(f + giant) % features] = entry;
    any = any || entry != 0.0;
  }
  return any ? ckks::Plain(std::move(weight)) : ckks::Plain();
}

// The power of two up to `most` that costs least, of a cost that falls and then rises.
template <typename Cost>
int least_babies(int most, const Cost& cost) {
  int babies = 1;
  while (2 * babies <= most && cost(2 * babies) < cost(babies)) babies *= 2;
  return babies;
}

}  // namespace

int share_of_block(int block, int count) {
  const int shares = static_cast<int>(std::bit_ceil(static_cast<unsigned>(count)));
  PSM_CHECK(count > 0 && shares <= block, count, " shares of ", block, " slots");
  return block / shares;
}

ckks::Complex complex_entry(const SlotMatrix& w, int row, int column, bool of_b) {
  const size_t width = 2 * static_cast<size_t>(w.columns);
  const double* upper = w.entries.data() + 2 * static_cast<size_t>(row) * width + 2 * column;
  const double* lower = upper + width;
  const double w11 = upper[0], w12 = upper[1], w21 = lower[0], w22 = lower[1];
  return of_b ? ckks::Complex(w11 - w22, w21 + w12) / 2.0 : ckks::Complex(w11 + w22, w21 - w12) / 2.0;
}

int choose_linear_babies(int features, size_t sources, int outputs) {
  constexpr double kKey = 0.5;  // what a further rotation key in memory is worth in key-switches
  return least_babies(features, [&](int babies) {
    return kHoistedSwitch * static_cast<double>(sources) * (babies - 1) + outputs * (features / babies - 1) +
           kKey * babies;
  });
}

std::vector<Value> linear_sources(Builder& builder, std::span<const Value> x, const SlotMatrix& w) {
  const int inputs = static_cast<int>(x.size()), features = w.columns / inputs;
  PSM_CHECK(w.columns % inputs == 0, w.columns, " features in ", inputs, " ciphertexts");
  std::vector<Value> sources;
  for (const Source& source : sources_of(w, features)) {
    const Value value = x[source.input];
    PSM_CHECK(builder.is_real(value) || !source.real, "ciphertext ", source.input, " is not real");
    sources.push_back(source.wraps          ? builder.rotate(sources.end()[source.real ? -1 : -2], -features)
                      : source.of_conjugate ? builder.conjugate(value)
                                            : value);
  }
  return sources;
}

ckks::LinearTransform linear_map(std::span<const SlotMatrix> matrices, int features, int babies) {
  const std::vector<Source> sources = sources_of(matrices[0], features);
  ckks::LinearTransform map{.outputs = 0, .terms = {}};
  for (const SlotMatrix& w : matrices) {
    PSM_CHECK(w.columns == matrices[0].columns && w.columns % features == 0 && w.rows % features == 0,
              "a matrix of ", w.rows, " x ", w.columns, " complex features cut by ", features);
    for (int block = 0; block < w.rows / features; ++block, ++map.outputs) {
      const size_t before = map.terms.size();
      const bool to_real = is_last(block * features, w.rows, w.real_rows);
      for (int giant = 0; giant < features; giant += babies)
        for (size_t input = 0; input < sources.size(); ++input) {
          const Source& source = sources[input];
          if (to_real && source.of_conjugate) continue;
          const Of of = source.of_conjugate ? Of::kB : source.real && !to_real ? Of::kSum : Of::kA;
          for (int b = 0; b < babies; ++b) {
            const int s = giant + b - (source.wraps ? features : 0);
            if (s <= -features) continue;
            ckks::Plain weight = diagonal(w, block, source.input, s, giant, of, features);
            if (weight.period() == 0) continue;
            map.terms.push_back({.output = map.outputs,
                                 .giant = giant,
                                 .input = static_cast<int>(input),
                                 .baby = b,
                                 .conjugate = false,
                                 .weight = std::move(weight)});
          }
        }
      if (map.terms.size() == before)  // an output of zeros still is an output
        map.terms.push_back({.output = map.outputs, .weight = ckks::Plain::constant(0)});
    }
  }
  return map;
}

void take_real_parts(Builder& builder, std::span<Value> z, int reals) {
  for (Value& value : z.last(static_cast<size_t>(reals))) value = builder.twice_real_part(value);
}

std::vector<Value> encrypted_linear(Builder& builder, std::span<const Value> x,
                                    std::span<const SlotMatrix> matrices) {
  PSM_CHECK(!x.empty() && !matrices.empty(), "a linear layer without inputs or matrices");
  const std::vector<Value> sources = linear_sources(builder, x, matrices[0]);
  const int features = matrices[0].columns / static_cast<int>(x.size());
  int outputs = 0;
  for (const SlotMatrix& w : matrices) outputs += w.rows / features;
  const int babies = choose_linear_babies(features, sources.size(), outputs);
  std::vector<Value> y = builder.linear(sources, linear_map(matrices, features, babies));
  auto first = y.begin();
  for (const SlotMatrix& w : matrices) {
    const auto last = first + w.rows / features;
    take_real_parts(builder, {first, last}, w.real_rows / features);
    first = last;
  }
  return y;
}

ckks::LinearTransform block_sum_map(std::span<const double> weight, int block, int inputs) {
  const int features = static_cast<int>(weight.size()), share = share_of_block(block, inputs);
  PSM_CHECK(features % block == 0, "blocks of ", block, " in ", features, " features");
  // B - 1 hoisted and 2 S / B - 1 full key-switches.
  const int babies = least_babies(block, [&](int b) { return kHoistedSwitch * (b - 1) + 2.0 * block / b; });
  ckks::LinearTransform map;
  for (int giant = -block; giant < block; giant += babies)
    for (int b = 0; b < babies; ++b) {
      const int s = giant + b;
      for (int input = 0; input < inputs; ++input) {
        bool used = false;
        std::vector<ckks::Complex> diagonal(weight.size());
        for (int f = 0; f < features; ++f) {
          const int in_block = f % block + s;
          if (in_block < 0 || in_block >= block || std::min(f % block / share, inputs - 1) != input) continue;
          diagonal[((f + giant) % features + features) % features] = weight[f + s];
          used = true;
        }
        if (used)
          map.terms.push_back(
              {.giant = giant, .input = input, .baby = b, .weight = ckks::Plain(std::move(diagonal))});
      }
    }
  return map;
}

ckks::LinearTransform share_map(int block, int outputs) {
  const int share = share_of_block(block, outputs);
  ckks::LinearTransform map{.outputs = outputs};
  for (int g = 0; g < block / share; ++g) {
    std::vector<ckks::Complex> ones(static_cast<size_t>(block));
    std::fill_n(ones.begin() + g * share, share, 1.0);
    const ckks::Plain mask(std::move(ones));
    for (int c = 0; c < outputs; ++c)
      map.terms.push_back({.output = c, .baby = (c - g) * share, .weight = mask});
  }
  return map;
}

}  // namespace psm::nn
