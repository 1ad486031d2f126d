#include "attention/encrypted/decode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

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
using program::Instruction;
using program::Program;
using program::Value;

namespace {

using Values = std::vector<Value>;

// Places of q, k and v in their ciphertext.
constexpr int kQuery = 0, kKey = 1, kValue = 2, kHeadPlaces = 4;

}  // namespace

// What all layers have in common, at position 0.
class Decoder {
 public:
  Decoder(Builder& builder, const ModelConfig& config, const Packing& packing)
      : builder_(builder), packing_(packing), power_(config.power) {
    const int places = static_cast<int>(packing.slots) / packing.features;
    if (places <= kHeadPlaces)
      throw Error(message("a further token needs more than ", kHeadPlaces, " places of ", packing.features,
                          " features, but ", packing.slots, " slots have ", places,
                          "; take a model with a longer context"));
    constants_.packing_ = packing;
    constants_.power_ = config.power;
    constants_.theta_ = rotary_angles(config, packing);
    key_mask_ = cache_key_mask(packing, constants_.theta_, 0, 1);
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
               const LayerApproximations& polynomials, Values& keys, Values& values) {
    constants_.layers_.push_back({.score = std::pow(std::abs(folded.row_sum_factor), 1.0 / power_),
                                  .value_mask = folded.value_range / std::abs(folded.row_sum_factor),
                                  .score_offset = folded.score_offset});
    const Values projected = project(h, folded);
    const size_t heads = heads_.size();
    Values queries;
    for (size_t c = 0; c < heads; ++c) {
      Builder::Scope scope(builder_, "cache");
      queries.push_back(query(projected[c], c));
      enter(projected[c], c, keys[c], values[c]);
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

  // After the last layer.
  PositionConstants constants_in(const Program& program) && {
    std::map<int, const Instruction*> by_result;
    for (const Instruction& instruction : program.instructions)
      by_result.emplace(instruction.results[0].id, &instruction);
    for (PositionConstants::Constant& constant : constants_.constants_)
      constant.instruction = *by_result.at(constant.instruction.results[0].id);
    return std::move(constants_);
  }

 private:
  using Kind = PositionConstants::Kind;

  // The instruction that made `first` is one that depends on the position.
  Value depends(Kind kind, size_t ciphertext, Value first) {
    constants_.constants_.push_back({kind, constants_.layers_.size() - 1, ciphertext, {.results = {first}}});
    return first;
  }
  const PositionConstants::Factors& factors() const { return constants_.layers_.back(); }

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

  // Half of q~: twice the real part of its product is the score.
  Value query(Value projected, size_t c) {
    const Value masked =
        depends(Kind::kQueryMask, c, builder_.multiply_plain(projected, constants_.query_mask(factors(), 0)));
    return builder_.sum_over_rotations(masked, static_cast<size_t>(packing_.features));
  }

  void enter(Value projected, size_t c, Value& keys, Value& values) {
    const Values moved = builder_.rotate_all(projected, constants_.places(0));
    depends(Kind::kPlaces, c, moved[0]);
    const Value key = depends(Kind::kKeyMask, c, builder_.multiply_plain(moved[0], key_mask_));
    const Value value =
        depends(Kind::kValueMask, c,
                builder_.multiply_plain(moved[1], cache_value_mask(packing_, factors().value_mask, 0, 1)));
    keys = builder_.add(keys, key);
    values = builder_.add(values, value);
  }

  // Attention of each ciphertext of heads, divided by V of folded_weights.h.
  Values attend(const Values& queries, const Values& keys, const Values& values, const FoldedLayer& folded,
                const approx::Approximation& inverse) {
    Builder::Scope scope(builder_, "attention");
    const size_t F = static_cast<size_t>(packing_.features);
    const std::vector<double> ones(F, 1.0);
    const double bound = factors().score;
    Values powers, row_sums;
    for (size_t c = 0; c < queries.size(); ++c) {
      Value score;
      {
        Builder::Scope inner(builder_, "scores");
        const Value products[] = {
            builder_.twice_real_part(builder_.multiply(builder_.conjugate(queries[c]), keys[c]))};
        score = builder_.linear(products, nn::block_sum_map(ones, packing_.head_features))[0];
        if (!folded.score_offset.empty())
          score = depends(Kind::kScoreOffsets, c,
                          builder_.add_plain(score, constants_.score_offsets(factors(), c, 0)));
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
  int power_, ffn_places_ = 1;
  PositionConstants constants_;
  ckks::Plain key_mask_;                // of all layers
  std::vector<nn::Stack> heads_, ffn_;  // blocks of [q; k; v], and of up's rows and down's columns
};

double PositionConstants::score_scale(const Factors& factors, int position) const {
  return factors.score * row_scale(position, power_);
}

// The query's place is the first of kHeadPlaces.
ckks::Plain PositionConstants::query_mask(const Factors& factors, int position) const {
  const size_t F = static_cast<size_t>(packing_.features);
  std::vector<ckks::Complex> mask(kHeadPlaces * F);
  for (size_t f = 0; f < F; ++f)
    mask[kQuery * F + f] =
        std::polar(score_scale(factors, position) / 2, theta_[f % theta_.size()] * position);
  return ckks::Plain(std::move(mask));
}

ckks::Plain PositionConstants::score_offsets(const Factors& factors, size_t ciphertext, int position) const {
  const size_t F = static_cast<size_t>(packing_.features);
  std::vector<ckks::Complex> offsets(static_cast<size_t>(packing_.tokens) * F);
  for (size_t slot = 0; slot < static_cast<size_t>(position + 1) * F; ++slot)
    offsets[slot] = score_scale(factors, position) *
                    factors.score_offset[ciphertext][slot % F / static_cast<size_t>(packing_.head_features)];
  return ckks::Plain(std::move(offsets));
}

// By how much key and value are rotated to get there.
std::vector<int> PositionConstants::places(int position) const {
  const auto offset = [&](int from) {
    return ((from - position - 1) % kHeadPlaces + kHeadPlaces) % kHeadPlaces + 1;  // 1 .. kHeadPlaces
  };
  return {offset(kKey) * packing_.features, offset(kValue) * packing_.features};
}

program::Constants PositionConstants::at(int position) const {
  require_one_sequence(packing_, position + 1);
  const ckks::Plain key_mask = cache_key_mask(packing_, theta_, position, position + 1);
  program::Constants constants;
  for (const Constant& constant : constants_) {
    const Factors& factors = layers_[constant.layer];
    Instruction instruction = constant.instruction;
    switch (constant.kind) {
      case Kind::kQueryMask:
        instruction.plain = query_mask(factors, position);
        break;
      case Kind::kPlaces:
        instruction.offsets = places(position);
        break;
      case Kind::kKeyMask:
        instruction.plain = key_mask;
        break;
      case Kind::kValueMask:
        instruction.plain = cache_value_mask(packing_, factors.value_mask, position, position + 1);
        break;
      case Kind::kScoreOffsets:
        instruction.plain = score_offsets(factors, constant.ciphertext, position);
        break;
    }
    constants.push_back(std::move(instruction));
  }
  return constants;
}

Program DecodeProgram::at(int position) const {
  return program::with_constants(program, constants.at(position));
}

namespace {

// folded(n), polynomials(n): layer n's.
template <typename Folded, typename Polynomials>
DecodeProgram build(const ModelConfig& config, const Packing& packing, bool client_norm, const Folded& folded,
                    const Polynomials& polynomials) {
  require_decodable(config);
  require_one_sequence(packing, 1);
  Builder builder(packing.slots);
  Decoder decoder(builder, config, packing);
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
  Program program = std::move(builder).finish();
  PositionConstants constants = std::move(decoder).constants_in(program);
  return {std::move(program), std::move(constants)};
}

}  // namespace

DecodeProgram build_decode_program(const PolynomialModel& model, const Packing& packing) {
  FoldedLayer folded;
  return build(
      model.weights.config, packing, model.options.client_norm,
      [&](int n) -> const FoldedLayer& { return folded = fold_layer(model, packing, n); },
      [&](int n) -> const LayerApproximations& { return model.layers[n]; });
}

DecodeProgram build_decode_shape_program(const ModelConfig& config, const Packing& packing,
                                         const ShapeRanges& ranges, const PolynomialOptions& options) {
  const FoldedLayer folded = shape_of_layer(config, packing);
  const LayerApproximations polynomials = shape_polynomials(config, ranges, options);
  return build(
      config, packing, options.client_norm, [&](int) -> const FoldedLayer& { return folded; },
      [&](int) -> const LayerApproximations& { return polynomials; });
}

}  // namespace psm::attention
