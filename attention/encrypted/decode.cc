#include "attention/encrypted/decode.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/encrypted_block.h"
#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_gelu.h"
#include "nn/encrypted/encrypted_norm.h"
#include "nn/encrypted/encrypted_power.h"
#include "nn/encrypted/encrypted_sum.h"
#include "nn/encrypted/stacked_linear.h"

namespace psm::attention {

using program::Builder;
using program::Program;
using program::Value;

namespace {

using Values = std::vector<Value>;

// Places of q, k and v in their ciphertext.
constexpr int kQuery = 0, kKey = 1, kValue = 2, kHeadPlaces = 4;

// What all layers have in common.
class Decoder {
 public:
  Decoder(Builder& builder, const ModelConfig& config, const Packing& packing, int position)
      : builder_(builder),
        packing_(packing),
        power_(config.power),
        position_(position),
        theta_(rotary_angles(config, packing)),
        key_mask_(cache_key_mask(packing, theta_, position, position + 1)) {
    const int places = static_cast<int>(packing.slots) / packing.features;
    if (places < kHeadPlaces)
      throw Error(message("a further token needs ", kHeadPlaces, " places of ", packing.features,
                          " features, but ", packing.slots, " slots have ", places, "; pack ", kHeadPlaces,
                          " tokens at least"));
    const int heads = packing.head_ciphertexts(), parts = packing.ffn.size() / packing.features;
    for (int c = 0; c < heads; ++c) heads_.push_back({c, heads + c, 2 * heads + c, -1});
    ffn_places_ = std::min(static_cast<int>(std::bit_ceil(static_cast<unsigned>(parts))), places);
    for (int part = 0; part < parts; ++part) {
      if (part % ffn_places_ == 0) ffn_.emplace_back(static_cast<size_t>(ffn_places_), -1);
      ffn_.back()[part % ffn_places_] = part;
    }
  }

  // The new x'; the token enters keys and values.
  Values layer(const Values& x, const Values& h, const FoldedLayer& folded,
               const LayerApproximations& polynomials, Values& keys, Values& values) const {
    const Values projected = project(h, folded);
    const size_t heads = heads_.size();
    Values queries;
    for (size_t c = 0; c < heads; ++c) {
      Builder::Scope scope(builder_, "cache");
      queries.push_back(query(projected[c], folded));
      enter(projected[c], folded, keys[c], values[c]);
    }
    const Values attention = attend(queries, keys, values, folded, polynomials.inverse());
    Values hidden;
    {
      Builder::Scope scope(builder_, "feed-forward");
      hidden =
          nn::encrypted_gelu(builder_, std::span<const Value>(projected).subspan(heads), polynomials.gelu);
    }
    return output(x, attention, hidden, folded);
  }

 private:
  // (q, k, v, 0) of each ciphertext of heads, then the stacks that gelu reads.
  Values project(const Values& h, const FoldedLayer& folded) const {
    Builder::Scope scope(builder_, "query, key, value, up");
    const nn::SlotMatrix matrices[] = {folded.q, folded.k, in_unit(folded.v, folded), folded.up};
    std::vector<nn::Stack> rows = heads_;
    for (nn::Stack stack : ffn_) {
      for (int& part : stack)
        if (part >= 0) part += 3 * packing_.head_ciphertexts();
      rows.push_back(std::move(stack));
    }
    const nn::LinearSteps steps = nn::choose_linear_steps(packing_.features, static_cast<int>(h.size()),
                                                          static_cast<int>(rows.size()), nn::kStackedSources);
    Values all = builder_.linear(
        nn::stacked_sources(builder_, h),
        nn::stacked_map(nn::above_one_another(matrices), rows, single_blocks(h.size()), steps));
    for (size_t c = 0; c < heads_.size(); ++c) {
      const ckks::Plain biases[] = {folded.q_bias[c], folded.k_bias[c], in_unit(folded.v_bias[c], folded)};
      all[c] = builder_.add_plain(all[c], nn::side_by_side(biases, kHeadPlaces));
    }
    for (size_t i = 0; i < ffn_.size(); ++i) {
      std::vector<ckks::Plain> biases;
      for (int part : ffn_[i])
        if (part >= 0) biases.push_back(folded.up_bias[part]);
      Value& half = all[heads_.size() + i];
      half = builder_.add_plain(half, nn::side_by_side(biases, ffn_places_));
    }
    return all;
  }

  // v / value_range: beside q and k, whose masks would let through a part of what is much larger than they.
  static nn::SlotMatrix in_unit(nn::SlotMatrix v, const FoldedLayer& folded) {
    for (double& entry : v.entries) entry /= folded.value_range;
    return v;
  }

  static ckks::Plain in_unit(const ckks::Plain& v, const FoldedLayer& folded) {
    if (!v.has_data()) return v;
    std::vector<ckks::Complex> values(v.values().begin(), v.values().end());
    for (ckks::Complex& value : values) value /= folded.value_range;
    return ckks::Plain(std::move(values));
  }

  // |s|^{1/p} (t + 1)^{-1/p}: what scores are scaled by.
  double score_scale(const FoldedLayer& folded) const {
    return std::pow(std::abs(folded.row_sum_factor), 1.0 / power_) * row_scale(position_, power_);
  }

  // Half of q~: twice the real part of its product is the score.
  Value query(Value projected, const FoldedLayer& folded) const {
    std::vector<ckks::Complex> mask(static_cast<size_t>(kHeadPlaces * packing_.features));
    for (int f = 0; f < packing_.features; ++f)
      mask[kQuery * packing_.features + f] =
          std::polar(score_scale(folded) / 2, theta_[f % packing_.head_features] * position_);
    return builder_.sum_over_rotations(builder_.multiply_plain(projected, ckks::Plain(std::move(mask))),
                                       static_cast<size_t>(packing_.features));
  }

  void enter(Value projected, const FoldedLayer& folded, Value& keys, Value& values) const {
    const auto offset = [&](int place) {
      return ((place - position_) % kHeadPlaces + kHeadPlaces) % kHeadPlaces * packing_.features;
    };
    const Values moved = builder_.rotate_all(projected, std::vector<int>{offset(kKey), offset(kValue)});
    const ckks::Plain value_mask =
        cache_value_mask(packing_, folded, position_, position_ + 1, folded.value_range);
    keys = builder_.add(keys, builder_.multiply_plain(moved[0], key_mask_));
    values = builder_.add(values, builder_.multiply_plain(moved[1], value_mask));
  }

  ckks::Plain score_offsets(const FoldedLayer& folded, size_t c) const {
    const size_t F = static_cast<size_t>(packing_.features);
    std::vector<ckks::Complex> offsets(static_cast<size_t>(packing_.tokens) * F);
    for (size_t slot = 0; slot < static_cast<size_t>(position_ + 1) * F; ++slot)
      offsets[slot] = score_scale(folded) *
                      folded.score_offset[c][slot % F / static_cast<size_t>(packing_.head_features)];
    return ckks::Plain(std::move(offsets));
  }

  // Attention of each ciphertext of heads, divided by V of folded_weights.h.
  Values attend(const Values& queries, const Values& keys, const Values& values, const FoldedLayer& folded,
                const approx::Approximation& inverse) const {
    Builder::Scope scope(builder_, "attention");
    const size_t F = static_cast<size_t>(packing_.features);
    const std::vector<double> ones(F, 1.0);
    const double bound = std::pow(std::abs(folded.row_sum_factor), 1.0 / power_);
    Values powers, row_sums;
    for (size_t c = 0; c < queries.size(); ++c) {
      Value score;
      {
        Builder::Scope inner(builder_, "scores");
        const Value products[] = {
            builder_.twice_real_part(builder_.multiply(builder_.conjugate(queries[c]), keys[c]))};
        score = builder_.linear(products, nn::block_sum_map(ones, packing_.head_features))[0];
        if (!folded.score_offset.empty()) score = builder_.add_plain(score, score_offsets(folded, c));
        builder_.check_range(score, -bound, bound, "scores, over the root of the largest denominator");
      }
      {
        Builder::Scope inner(builder_, "power");
        powers.push_back(nn::power_of(builder_, score, power_));
      }
      Builder::Scope inner(builder_, "denominator");
      const Value sum = builder_.sum_over_rotations(powers.back(), F);
      row_sums.push_back(folded.row_sum_factor < 0 ? builder_.negate(sum) : sum);
    }
    const Values inverses = invert_row_sums(builder_, std::move(row_sums), folded, inverse);
    Values outputs;
    for (size_t c = 0; c < queries.size(); ++c) {
      Value sum;
      {
        Builder::Scope inner(builder_, "values");
        sum = builder_.sum_over_rotations(builder_.multiply(powers[c], values[c]), F);
      }
      Builder::Scope inner(builder_, "division");
      outputs.push_back(builder_.multiply(sum, inverses[c]));
    }
    Builder::Scope inner(builder_, "division");
    return builder_.refresh(outputs);
  }

  Values output(const Values& x, const Values& attention, const Values& hidden,
                const FoldedLayer& folded) const {
    Builder::Scope scope(builder_, "output");
    const std::vector<nn::Stack> rows = single_blocks(x.size());
    const nn::LinearSteps steps =
        nn::choose_linear_steps(packing_.features, static_cast<int>(attention.size() + hidden.size()),
                                static_cast<int>(x.size()), nn::kStackedSources);
    ckks::LinearTransform map =
        nn::stacked_map(folded.o, rows, single_blocks(attention.size()), steps, ffn_places_);
    for (ckks::TransformTerm& term : nn::stacked_map(folded.down, rows, ffn_, steps, ffn_places_).terms) {
      term.input += static_cast<int>(attention.size()) * nn::kStackedSources;
      map.terms.push_back(std::move(term));
    }
    Values inputs = attention;
    inputs.insert(inputs.end(), hidden.begin(), hidden.end());
    const Values change = builder_.linear(nn::stacked_sources(builder_, inputs), std::move(map));
    Values sum;
    for (size_t c = 0; c < x.size(); ++c) {
      const Value one = builder_.sum_over_rotations(change[c], static_cast<size_t>(packing_.features));
      sum.push_back(builder_.add(x[c], builder_.add_plain(one, folded.out_bias[c])));
    }
    return sum;
  }

  static std::vector<nn::Stack> single_blocks(size_t count) {
    std::vector<nn::Stack> stacks;
    for (size_t block = 0; block < count; ++block) stacks.push_back({static_cast<int>(block)});
    return stacks;
  }

  Builder& builder_;
  const Packing& packing_;
  int power_, position_, ffn_places_ = 1;
  std::vector<double> theta_;
  ckks::Plain key_mask_;
  std::vector<nn::Stack> heads_, ffn_;  // blocks of [q; k; v], and of up's rows and down's columns
};

// folded(n), polynomials(n): layer n's.
template <typename Folded, typename Polynomials>
Program build(const ModelConfig& config, const Packing& packing, int position, bool client_norm,
              const Folded& folded, const Polynomials& polynomials) {
  require_decodable(config);
  require_one_sequence(packing, position + 1);
  Builder builder(packing.slots);
  const Decoder decoder(builder, config, packing, position);
  const auto state = [&](const char* name) {
    Values ciphertexts;
    for (int c = 0; c < packing.state_ciphertexts(); ++c)
      ciphertexts.push_back(
          builder.input(input_name(packing, name, c), false, static_cast<size_t>(packing.features)));
    return ciphertexts;
  };
  Values x = state("x"), h;
  if (client_norm) h = state("h");
  for (int n = 0; n < config.layers; ++n) {
    Builder::Scope scope(builder, "layer " + std::to_string(n));
    const FoldedLayer& layer = folded(n);
    const LayerApproximations& functions = polynomials(n);
    Values keys, values;
    for (int c = 0; c < packing.head_ciphertexts(); ++c) {
      keys.push_back(builder.input(keys_name(packing, n, c), false, packing.period()));
      values.push_back(builder.input(values_name(packing, n, c), false, packing.period()));
    }
    if (n > 0 || !client_norm) {
      x = builder.refresh(x);
      h = nn::encrypted_norm(builder, x, layer.variance_weight, layer.variance_offset,
                             functions.inverse_sqrt);
    }
    x = decoder.layer(x, h, layer, functions, keys, values);
    for (int c = 0; c < packing.head_ciphertexts(); ++c) {
      builder.output(keys_name(packing, n, c), keys[c]);
      builder.output(values_name(packing, n, c), values[c]);
    }
  }
  for (int c = 0; c < packing.state_ciphertexts(); ++c) builder.output(input_name(packing, "x", c), x[c]);
  return std::move(builder).finish();
}

}  // namespace

Program build_decode_program(const PolynomialModel& model, const Packing& packing, int position) {
  FoldedLayer folded;
  return build(
      model.weights.config, packing, position, model.options.client_norm,
      [&](int n) -> const FoldedLayer& { return folded = fold_layer(model, packing, n); },
      [&](int n) -> const LayerApproximations& { return model.layers[n]; });
}

Program build_decode_shape_program(const ModelConfig& config, const Packing& packing, int position,
                                   const ShapeRanges& ranges, const PolynomialOptions& options) {
  const FoldedLayer folded = shape_of_layer(config, packing);
  const LayerApproximations polynomials = shape_polynomials(config, ranges, options);
  return build(
      config, packing, position, options.client_norm, [&](int) -> const FoldedLayer& { return folded; },
      [&](int) -> const LayerApproximations& { return polynomials; });
}

}  // namespace psm::attention
