#include "attention/rows/row_program.h"

#include <bit>
#include <cmath>

#include "approx/maximum.h"
#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_power.h"
#include "nn/encrypted/encrypted_sum.h"

namespace psm::attention {
namespace {

using program::Builder;

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

ckks::Plain plain(const std::vector<double>& values) {
  return ckks::Plain(std::vector<ckks::Complex>(values.begin(), values.end()));
}

constexpr double kRounding = 1e-9;  // of scales that are folded into one another

bool is_one(double x) { return std::abs(x - 1) < kRounding; }

}  // namespace

SlotRows::SlotRows(Builder& builder, const RowPacking& packing) : builder_(builder), packing_(packing) {
  check(packing);
}

std::vector<double> SlotRows::places(double factor, bool over_length, double rest) const {
  std::vector<double> places;
  for (int length : packing_.lengths)
    for (int j = 0; j < packing_.places; ++j)
      places.push_back(j >= length ? rest : over_length ? factor / length : factor);
  return places;
}

program::Value SlotRows::times_places(const Value& x, double factor) {
  return builder_.multiply_plain(x.slots, plain(places(x.unit * factor, x.over_length)));
}

program::Value SlotRows::row_sum(program::Value x, const std::vector<double>& weight) {
  const program::Value in[] = {x};
  return builder_.mark_real(builder_.linear(in, nn::block_sum_map(weight, packing_.places))[0]);
}

program::Value SlotRows::weights(const Value& x) const {
  PSM_CHECK(x.unit == 1 && !x.over_length, "unit ", x.unit);
  return x.slots;
}

SlotRows::Value SlotRows::apply(const approx::Approximation& f, const Value& x, const char* what,
                                double shift, double factor) {
  PSM_CHECK(is_one(x.unit * f.input_scale() * factor) && !x.over_length, what, ": unit ", x.unit);
  program::Value v = x.slots;
  const double offset = f.input_offset() + f.input_scale() * factor * shift;
  if (std::abs(offset) > kRounding) v = builder_.add_constant(v, offset);
  if (!x.fresh) v = builder_.refresh(v);
  return {builder_.refresh(f.build(builder_, v, what)), f.output_scale(), false, true};
}

SlotRows::Value SlotRows::of_sum(const approx::Approximation& f, const Value& x, double addend,
                                 const char* what) {
  const program::Value sum = row_sum(x.slots, places(f.input_scale() * x.unit, x.over_length));
  const program::Value v =
      builder_.refresh(builder_.add_constant(sum, f.input_scale() * addend + f.input_offset()));
  return {builder_.refresh(f.build(builder_, v, what)), f.output_scale()};
}

SlotRows::Value SlotRows::scaled_by(const Value& x, const Value& number) {
  return {builder_.multiply(times_places(x, number.unit), number.slots)};
}

SlotRows::Value SlotRows::power(const Value& x, int p) {
  PSM_CHECK(!x.over_length, "power ", p, " of values over the length");
  return {nn::power_of(builder_, x.slots, p), std::pow(x.unit, p)};
}

SlotRows::Value SlotRows::over_length(Value x) const {
  PSM_CHECK(!x.over_length, "values over the length already");
  x.over_length = true;
  return x;
}

SlotRows::Value SlotRows::half_sum(const Value& x, const Value& y) {
  const program::Value half = times_places(x, 0.5);
  return {builder_.add(half, times_places(y, 0.5))};
}

SlotRows::Value SlotRows::padded(const Value& x, int places, double rest) {
  if (packing_.places != places)
    throw Error(
        message("rows of ", packing_.places, " places; these polynomials were made for rows of ", places));
  return {builder_.add_plain(x.slots, plain(this->places(0, false, rest / x.unit))), x.unit};
}

SlotRows::Value SlotRows::max_with(const approx::Approximation& f, const Value& x, int offset,
                                   const char* what) {
  PSM_CHECK(is_one(x.unit * f.input_scale()), what, ": unit ", x.unit);
  const program::Value v = builder_.refresh(x.slots);
  return {approx::build_max(builder_, f, v, builder_.rotate(v, offset), what), f.output_scale() / 2};
}

SlotRows::Value SlotRows::as_input_of(const approx::Approximation& f, const Value& x) {
  return {builder_.multiply_constant(x.slots, x.unit * f.input_scale()), 1 / f.input_scale()};
}

SlotRows::Value SlotRows::less_first(const Value& x, const Value& m, const approx::Approximation& f) {
  const auto S = static_cast<size_t>(packing_.places);
  std::vector<double> first(S * packing_.lengths.size());
  for (size_t s = 0; s < first.size(); s += S) first[s] = m.unit * f.input_scale();
  const program::Value everywhere = row_sum(m.slots, first);
  const Value from = as_input_of(f, x);
  return {builder_.subtract(from.slots, everywhere), from.unit};
}

SlotRows::Value SlotRows::refresh(const Value& x) {
  return {builder_.refresh(x.slots), x.unit, x.over_length, true};
}

std::vector<ckks::Complex> pack_rows(const RowPacking& packing, double input_scale,
                                     std::span<const std::vector<double>> rows) {
  check(packing);
  PSM_CHECK(rows.size() == packing.slots / packing.places, "rows ", rows.size());
  std::vector<ckks::Complex> slots(packing.slots);
  for (size_t r = 0; r < rows.size(); ++r) {
    PSM_CHECK(static_cast<int>(rows[r].size()) == packing.lengths[r % packing.lengths.size()], "row ", r);
    for (size_t j = 0; j < rows[r].size(); ++j) slots[r * packing.places + j] = input_scale * rows[r][j];
  }
  return slots;
}

}  // namespace psm::attention
