#include "attention/encrypted/row_program.h"

#include <bit>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_function.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::attention {
namespace {

using program::Builder;
using Values = std::vector<program::Value>;

void check(const RowPacking& packing) {
  const auto places = static_cast<size_t>(packing.places), rows = packing.lengths.size();
  PSM_CHECK(std::has_single_bit(places) && std::has_single_bit(rows) && packing.slots % (places * rows) == 0,
            packing.places, " places in ", rows, " lengths of ", packing.slots, " slots");
  for (const int length : packing.lengths)
    PSM_CHECK(length >= 1 && length <= packing.places * packing.ciphertexts, length);
}

ckks::Plain plain(const std::vector<double>& values) {
  return ckks::Plain(std::vector<ckks::Complex>(values.begin(), values.end()));
}

constexpr double kRefreshableRatio = 0x1p-12;
constexpr double kRounding = 1e-9;  // of scales that are folded into one another

bool is_one(double x) { return std::abs(x - 1) < kRounding; }

// Reads a row recipe into a program; the operations are those of attention/reference/polynomial_weights.h.
class SlotRows {
 public:
  struct Value {
    std::vector<program::Value> slots;  // by ciphertext; one for a number of each row
    double unit = 1;                    // what it stands for is unit * slots
    bool ends_in_zeros = false;         // after the row's end
    program::Value factor{};            // by factor_unit times which it is still to be multiplied
    double factor_unit = 1;
  };

  SlotRows(Builder& builder, const RowPacking& packing) : builder_(builder), packing_(packing) {
    check(packing);
  }

  Value scores(std::vector<program::Value> slots, double input_scale) const {
    PSM_CHECK(slots.size() == static_cast<size_t>(packing_.ciphertexts), slots.size(), " ciphertexts");
    return {std::move(slots), 1 / input_scale, /*ends_in_zeros=*/true};
  }

  RowWeights weights(Value x) {
    if (!x.factor.valid()) return {std::move(x.slots), {}, x.unit};
    // What follows a row's end goes here.
    if (!x.ends_in_zeros) x.slots = times_places(x, 1 / x.unit);
    return {std::move(x.slots), x.factor, x.unit * x.factor_unit};
  }

  // x: the scores, which need no refresh yet. No recipe applies a function later.
  Value apply(const approx::Approximation& f, const Value& x, const char* what, double shift = 0,
              double factor = 1) {
    PSM_CHECK(is_one(x.unit * f.input_scale() * factor) && !x.factor.valid(), what, ": unit ", x.unit);
    Values values = x.slots;
    const double offset = f.input_offset() + f.input_scale() * factor * shift;
    if (std::abs(offset) > kRounding)
      for (program::Value& v : values) v = builder_.add_constant(v, offset);
    for (program::Value& v : values) v = nn::build(builder_, f, v, what);
    return {builder_.refresh(values), f.output_scale()};
  }

  Value of_sum(const approx::Approximation& f, const Value& x, double addend, const char* what) {
    PSM_CHECK(!x.factor.valid(), what);
    const program::Value sum = builder_.mark_real(sum_of(x, f.input_scale() * x.unit));
    program::Value v = builder_.add_constant(sum, f.input_scale() * addend + f.input_offset());
    // A bootstrap's error is absolute: of a wide interval's lower end it would leave nothing.
    if (f.domain().lo > kRefreshableRatio * f.domain().hi) v = builder_.refresh(v);
    return {{builder_.refresh(nn::build(builder_, f, v, what))}, f.output_scale()};
  }

  Value scaled_by(Value x, const Value& number) const {
    x.factor = number.slots[0];
    x.factor_unit = number.unit;
    return x;
  }

  Value times(Value x, double c) const {
    x.unit *= c;
    return x;
  }

  Value power(const Value& base, int p) {
    Value x = divided(base);
    for (program::Value& v : x.slots) v = nn::power_of(builder_, v, p);
    return {.slots = std::move(x.slots), .unit = std::pow(x.unit, p), .ends_in_zeros = x.ends_in_zeros};
  }

  Value over_length(Value powers) const { return powers; }  // the scores hold L^(-1/p)

  Value half_sum_over_length(const Value& x, const Value& y) {
    Value half{.slots = {}, .unit = x.unit, .ends_in_zeros = true};  // the scores' bound, so within 1
    for (size_t m = 0; m < x.slots.size(); ++m) {
      const auto product = [&](const Value& of) {
        const double factor = of.unit / x.unit / 2;
        return builder_.multiply_plain(of.slots[m],
                                       plain(places(m, [&](int length) { return factor / length; })));
      };
      half.slots.push_back(builder_.add(product(x), product(y)));
    }
    return half;
  }

  Value refresh(Value x) {
    x.slots = builder_.refresh(x.slots);
    return x;
  }

 private:
  // factor times the sum of a row's slots, in all its places.
  program::Value sum_of(const Value& x, double factor) {
    if (static_cast<size_t>(packing_.places) == packing_.slots)  // of one row
      return builder_.sum_of_rotations(builder_.add_all(times_places(x, factor / x.unit)), 1,
                                       packing_.places);
    Values in = x.slots;
    ckks::LinearTransform map;
    if (x.ends_in_zeros) {
      in = {builder_.add_all(in)};
      map = nn::block_sum_map(std::vector<double>(static_cast<size_t>(packing_.places), factor),
                              packing_.places);
    } else {
      for (size_t m = 0; m < in.size(); ++m)
        for (ckks::TransformTerm& term :
             nn::block_sum_map(places(m, [&](int) { return factor; }), packing_.places).terms) {
          term.input = static_cast<int>(m);
          map.terms.push_back(std::move(term));
        }
    }
    return builder_.linear(in, std::move(map))[0];
  }

  // factor(L) in the slots of ciphertext m up to a row's end.
  std::vector<double> places(size_t m, const auto& factor) const {
    std::vector<double> places;
    for (int length : packing_.lengths)
      for (int j = 0; j < packing_.places; ++j)
        places.push_back(static_cast<int>(m) * packing_.places + j < length ? factor(length) : 0);
    return places;
  }

  // unit * factor x
  Values times_places(const Value& x, double factor) {
    Values products;
    for (size_t m = 0; m < x.slots.size(); ++m)
      products.push_back(
          builder_.multiply_plain(x.slots[m], plain(places(m, [&](int) { return x.unit * factor; }))));
    return products;
  }

  // With no factor left apart, and the unit 1.
  Value divided(const Value& x) {
    if (!x.factor.valid()) return x;
    Values products = times_places(x, x.factor_unit);
    for (program::Value& product : products) product = builder_.multiply(product, x.factor);
    return {.slots = std::move(products), .ends_in_zeros = true};
  }

  Builder& builder_;
  const RowPacking& packing_;
};

Packing one_prompt(ModelConfig config, bool causal, int tokens, size_t slots) {
  config.causal = causal;
  config.context = tokens;
  config.rotary_fraction = 0;  // scores are given
  Packing packing = make_packing(config, tokens, slots, 1);
  if (!causal) packing.length = tokens;
  PSM_CHECK(packing.period() == slots && packing.head_ciphertexts() == 1, "one prompt in ", slots, " slots");
  PSM_CHECK(tokens % packing.head_features == 0, tokens, " tokens, heads of ", packing.head_features);
  return packing;
}

AttentionMasks masks_of(const Packing& packing) {
  return {packing, std::vector<double>(static_cast<size_t>(packing.head_features)),
          std::vector<double>(static_cast<size_t>(packing.tokens), 1.0)};
}

}  // namespace

RowWeights in_slots(Builder& builder, const PolynomialRow& row, const RowPacking& packing,
                    const Values& scores) {
  SlotRows rows(builder, packing);
  const SlotRows::Value x = rows.scores(scores, row.input_scale(packing.score_bound));
  return std::visit([&](const auto& each) { return rows.weights(each.run(rows, x)); }, row.recipe);
}

std::vector<std::vector<ckks::Complex>> pack_rows(const PolynomialRow& row, const RowPacking& packing,
                                                  std::span<const std::vector<double>> rows) {
  check(packing);
  const auto S = static_cast<size_t>(packing.places);
  const double input_scale = row.input_scale(packing.score_bound);
  const auto* power = std::get_if<PowerSoftmaxRecipe>(&row.recipe);
  PSM_CHECK(rows.size() == packing.slots / S, "rows ", rows.size());
  std::vector<std::vector<ckks::Complex>> slots(static_cast<size_t>(packing.ciphertexts),
                                                std::vector<ckks::Complex>(packing.slots));
  for (size_t r = 0; r < rows.size(); ++r) {
    PSM_CHECK(static_cast<int>(rows[r].size()) == packing.lengths[r % packing.lengths.size()], "row ", r);
    const double root = power ? std::pow(static_cast<double>(rows[r].size()), -1.0 / power->p) : 1;
    for (size_t j = 0; j < rows[r].size(); ++j) slots[j / S][r * S + j % S] = input_scale * root * rows[r][j];
  }
  return slots;
}

QueryBlock::QueryBlock(const ModelConfig& config, int tokens, size_t slots, int key_blocks)
    : key_blocks_(key_blocks),
      causal_packing_(one_prompt(config, true, tokens, slots)),
      causal_(masks_of(causal_packing_)),
      cyclic_(masks_of(one_prompt(config, false, tokens, slots))) {
  PSM_CHECK(key_blocks >= 1, key_blocks, " blocks of keys");
}

RowPacking QueryBlock::rows(double score_bound) const {
  RowPacking rows{.slots = causal_packing_.slots,
                  .places = causal_packing_.head_features,
                  .lengths = {},
                  .score_bound = score_bound,
                  .ciphertexts = score_ciphertexts()};
  for (int t = 0; t < tokens(); ++t)
    for (int h = 0; h < heads(); ++h) rows.lengths.push_back((key_blocks_ - 1) * tokens() + t + 1);
  return rows;
}

QueryBlock::Output QueryBlock::attend(Builder& builder, const PolynomialRow& row, const RowPacking& packing,
                                      const Values& scores, const Values& values) const {
  PSM_CHECK(static_cast<int>(scores.size()) == score_ciphertexts() &&
                static_cast<int>(values.size()) == key_blocks_,
            scores.size(), " ciphertexts of scores, ", values.size(), " of values");
  RowWeights weights;
  {
    Builder::Scope scope(builder, "weights");
    weights = in_slots(builder, row, packing, scores);
  }
  Values sums;
  {
    Builder::Scope scope(builder, "values");
    const auto M = weights.slots.size() / values.size();
    for (size_t l = 0; l < values.size(); ++l) {
      const auto first = weights.slots.begin() + static_cast<ptrdiff_t>(l * M);
      const AttentionMasks& masks = l + 1 < values.size() ? cyclic_ : causal_;
      AttentionMasks::Shared shared{.k = {}, .v = values[l]};
      sums.push_back(masks.weigh(builder, {first, first + static_cast<ptrdiff_t>(M)}, shared));
    }
  }
  Builder::Scope scope(builder, "weights / division");
  program::Value sum = builder.add_all(sums);
  if (weights.factor.valid()) sum = builder.multiply(sum, weights.factor);
  return {builder.refresh(sum), weights.unit};
}

}  // namespace psm::attention
