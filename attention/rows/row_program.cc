#include "attention/rows/row_program.h"

#include <bit>
#include <cmath>

#include "approx/maximum.h"
#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_power.h"
#include "nn/encrypted/encrypted_sum.h"

namespace psm {
namespace {

using program::Builder;
using program::Complex;
using program::Plain;
using program::Value;

void check(const RowPacking& packing) {
  const auto places = static_cast<size_t>(packing.places);
  if (packing.places < 1 || !std::has_single_bit(places) || !std::has_single_bit(packing.lengths.size()) ||
      packing.slots % (places * packing.lengths.size()) != 0)
    throw Error(message("rows of ", packing.places, " places in ", packing.lengths.size(),
                        " lengths do not fill ", packing.slots,
                        " slots; give powers of two that divide them"));
  for (int length : packing.lengths)
    if (length < 1 || length > packing.places)
      throw Error(message("a row of ", length, " scores does not fit ", packing.places, " places"));
}

int ceil_log2(int n) { return static_cast<int>(std::bit_width(static_cast<unsigned>(n - 1))); }

// value(length) in the places that a row has, `rest` in those after them.
template <typename OfLength>
std::vector<double> in_places(const RowPacking& packing, const OfLength& value, double rest = 0) {
  std::vector<double> places;
  for (int length : packing.lengths)
    for (int j = 0; j < packing.places; ++j) places.push_back(j < length ? value(length) : rest);
  return places;
}

std::vector<double> in_places(const RowPacking& packing, double value, double rest = 0) {
  return in_places(
      packing, [value](int) { return value; }, rest);
}

Plain plain(const std::vector<double>& values) {
  return Plain(std::vector<Complex>(values.begin(), values.end()));
}

// sum_j weight_j x_j of every row, in all its places.
Value row_sum(Builder& builder, const RowPacking& packing, Value x, const std::vector<double>& weight) {
  const Value in[] = {x};
  return builder.mark_real(builder.linear(in, block_sum_map(weight, packing.places))[0]);
}

}  // namespace

RowProgram power_softmax_rows(const ModelConfig& config, const PolynomialWeights& weights, double score_bound,
                              const RowPacking& packing) {
  check(packing);
  const Approximation inverse = weights.parts.front();
  RowProgram rows;
  rows.input_scale = 1 / score_bound;
  rows.levels = ceil_log2(config.power) + 1 + inverse.depth() + 1;
  rows.build = [config, inverse, score_bound, packing](Builder& builder, Value v) {
    const double bound = std::pow(score_bound, config.power);
    const auto share = [&](int length) {
      return config.form == PowerForm::kLengthAgnostic ? bound / length : bound;
    };
    const double epsilon = config.form == PowerForm::kPlain ? 0 : config.epsilon;
    const Value u = power_of(builder, v, config.power);
    const Value sum =
        row_sum(builder, packing, u,
                in_places(packing, [&](int length) { return inverse.input_scale() * share(length); }));
    const Value d =
        builder.refresh(builder.add_constant(sum, inverse.input_scale() * epsilon + inverse.input_offset()));
    const Value reciprocal = builder.refresh(inverse.build(builder, d, "denominator"));
    const Value numerator = builder.multiply_plain(
        u, plain(in_places(packing, [&](int length) { return inverse.output_scale() * share(length); })));
    return builder.multiply(numerator, reciprocal);
  };
  return rows;
}

RowProgram scaled_relu_rows(const PolynomialWeights& weights, const RowPacking& packing) {
  check(packing);
  const Approximation absolute = weights.parts.front();
  RowProgram rows;
  rows.input_scale = absolute.input_scale();
  rows.levels = absolute.depth() + 1;
  rows.build = [absolute, packing](Builder& builder, Value v) {
    const Value size = builder.refresh(absolute.build(builder, v, "score"));
    const auto half = [&](double scale) {
      return plain(in_places(packing, [&](int length) { return scale / (2.0 * length); }));
    };
    return builder.add(builder.multiply_plain(v, half(1 / absolute.input_scale())),
                       builder.multiply_plain(size, half(absolute.output_scale())));
  };
  return rows;
}

RowProgram taylor_goldschmidt_rows(const PolynomialWeights& weights, double score_bound,
                                   const RowPacking& packing) {
  check(packing);
  PSM_CHECK(weights.parts.size() == 3, "parts ", weights.parts.size());
  const Approximation absolute = weights.parts[0], exp = weights.parts[1], inverse = weights.parts[2];
  const int pairings = ceil_log2(packing.places);
  RowProgram rows;
  rows.input_scale = absolute.input_scale();
  rows.levels = pairings * (absolute.depth() + 1) + exp.depth() + 1 + inverse.depth() + 1;
  rows.build = [absolute, exp, inverse, score_bound, packing](Builder& builder, Value v) {
    // Places after a row's end lose against every score.
    const double f = absolute.input_scale();
    const Value x = builder.add_plain(v, plain(in_places(packing, 0.0, -f * score_bound)));
    Value m = x;
    const double unit = absolute.output_scale() / 2;  // build_max's result times this is the maximum
    for (int offset = packing.places / 2; offset >= 1; offset /= 2) {
      m = builder.refresh(m);
      m = build_max(builder, absolute, m, builder.rotate(m, offset), "distance of two scores");
      if (offset > 1) m = builder.multiply_constant(m, unit * f);
    }
    std::vector<double> first(packing.places * packing.lengths.size());
    const double scale = packing.places == 1 ? exp.input_scale() / f : unit * exp.input_scale();
    for (size_t s = 0; s < first.size(); s += packing.places) first[s] = scale;
    m = row_sum(builder, packing, m, first);
    const Value shifted = builder.subtract(builder.multiply_constant(x, exp.input_scale() / f), m);
    const Value e = builder.refresh(exp.build(
        builder, builder.refresh(builder.add_constant(shifted, exp.input_offset())), "score less maximum"));
    const Value d = builder.refresh(builder.add_constant(
        row_sum(builder, packing, e, in_places(packing, inverse.input_scale() * exp.output_scale())),
        inverse.input_offset()));
    const Value reciprocal = builder.refresh(inverse.build(builder, d, "denominator"));
    const Value numerator =
        builder.multiply_plain(e, plain(in_places(packing, exp.output_scale() * inverse.output_scale())));
    return builder.multiply(numerator, reciprocal);
  };
  return rows;
}

RowProgram normalise_square_rows(const PolynomialWeights& weights, double score_bound,
                                 const RowPacking& packing) {
  check(packing);
  const std::vector<Approximation> parts = weights.parts;
  const double fold = std::ldexp(1.0, static_cast<int>(parts.size()) - 1);
  RowProgram rows;
  rows.input_scale = parts[0].input_scale() / fold;
  rows.levels = parts[0].depth();
  for (size_t round = 1; round < parts.size(); ++round) rows.levels += parts[round].depth() + 4;
  rows.build = [parts, fold, score_bound, packing](Builder& builder, Value v) {
    const Approximation& exp = parts[0];
    const Value x = builder.add_constant(v, exp.input_offset() - exp.input_scale() * score_bound / fold);
    Value y = builder.refresh(exp.build(builder, x, "score"));
    double scale = exp.output_scale();  // times which y is what its name says
    for (size_t round = 1; round < parts.size(); ++round) {
      const Approximation& root = parts[round];
      const Value sum = row_sum(builder, packing, builder.square(y),
                                in_places(packing, root.input_scale() * scale * scale));
      const Value s = builder.refresh(builder.add_constant(sum, root.input_offset()));
      const Value factor = builder.refresh(root.build(builder, s, "sum of squares"));
      const Value z = builder.multiply_plain(y, plain(in_places(packing, scale * root.output_scale())));
      y = builder.square(builder.multiply(z, factor));
      if (round + 1 < parts.size()) y = builder.refresh(y);
      scale = 1;
    }
    return y;
  };
  return rows;
}

std::vector<Complex> pack_rows(const RowPacking& packing, double input_scale,
                               std::span<const std::vector<double>> rows) {
  check(packing);
  PSM_CHECK(rows.size() == packing.slots / packing.places, "rows ", rows.size());
  std::vector<Complex> slots(packing.slots);
  for (size_t r = 0; r < rows.size(); ++r) {
    PSM_CHECK(static_cast<int>(rows[r].size()) == packing.lengths[r % packing.lengths.size()], "row ", r);
    for (size_t j = 0; j < rows[r].size(); ++j) slots[r * packing.places + j] = input_scale * rows[r][j];
  }
  return slots;
}

}  // namespace psm
