#include "attention/encrypted/decode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/encrypted_block.h"
#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "nn/encrypted/dense_linear.h"
#include "nn/encrypted/encrypted_gelu.h"
#include "nn/encrypted/encrypted_norm.h"
#include "nn/encrypted/encrypted_power.h"
#include "nn/encrypted/encrypted_sum.h"
#include "nn/encrypted/spread_linear.h"

namespace psm::attention {

using program::Builder;
using program::Instruction;
using program::Program;
using program::Value;

namespace {

using Values = std::vector<Value>;

constexpr size_t kLeastPlaces =
    4;  // for rotations to the places of a cache (PositionConstants::place_offsets)

std::string weight_name(size_t layer, const char* weight) {
  return "layer " + std::to_string(layer) + " / " + weight;
}

// 1 in the regions of these blocks.
ckks::Plain region_mask(const nn::DenseShape& shape, int output, const std::vector<int>& blocks) {
  std::vector<ckks::Plain> ones(shape.regions.size());
  for (const int block : blocks)
    if (block >= 0) ones[block] = ckks::Plain::constant(1);
  return nn::in_regions(shape, output, ones);
}

}  // namespace

// What all layers have in common, at position 0.
class Decoder {
 public:
  Decoder(Builder& builder, nn::WeightInputs& weights, const ModelConfig& config, const Packing& packing)
      : builder_(builder), weights_(weights), packing_(packing) {
    const int F = packing.features, heads = packing.head_ciphertexts(), parts = packing.ffn.size() / F;
    const size_t places = packing.slots / static_cast<size_t>(F);
    if (places < kLeastPlaces)
      throw Error(message("a further token needs ", kLeastPlaces, " places of ", F, " features, but ",
                          packing.slots, " slots have ", places, "; take a model with a longer context"));
    ffn_places_ = static_cast<int>(std::min(std::bit_ceil(static_cast<size_t>(parts)), places / 2));
    std::vector<nn::Congruence> rows(3 * static_cast<size_t>(heads));
    for (int part = 0; part < parts; ++part) {
      if (part % ffn_places_ == 0) ffn_.emplace_back(static_cast<size_t>(ffn_places_), -1);
      ffn_.back()[part % ffn_places_] = part;
      rows.push_back({part % ffn_places_, ffn_places_});
    }
    const std::vector<nn::Congruence> state(static_cast<size_t>(packing.state_ciphertexts()));
    of_state_ = single_blocks(packing.state_ciphertexts());
    of_heads_ = single_blocks(heads);
    project_ = nn::choose_dense_shape(packing.slots, F, of_state_, rows);
    attention_out_ = nn::choose_dense_shape(packing.slots, F, of_heads_, state);
    hidden_ = {packing.slots, F, ffn_places_};
    to_spread_ = nn::spreading(hidden_);
    constants_.packing_ = packing;
    constants_.power_ = config.power;
    constants_.theta_ = rotary_angles(config, packing);
    constants_.regions_ = project_.regions;
  }

  // The new x'; the token enters keys and values.
  Values layer(const Stream& stream, const FoldedLayer& folded, const LayerApproximations& polynomials,
               Values& keys, Values& values) {
    constants_.layers_.push_back({.score = std::pow(std::abs(folded.row_sum_factor), 1.0 / constants_.power_),
                                  .value_mask = folded.value_range / std::abs(folded.row_sum_factor),
                                  .score_offset = folded.score_offset,
                                  .biases = {folded.q_bias, folded.k_bias, in_unit(folded.v_bias, folded)}});
    const Projections projected = project(stream, folded, polynomials);
    for (size_t c = 0; c < of_heads_.size(); ++c) {
      Builder::Scope scope(builder_, "cache");
      keys[c] = builder_.add(keys[c], projected.keys[c]);
      values[c] = builder_.add(values[c], projected.values[c]);
    }
    const Values attention = attend(projected.queries, keys, values, folded, polynomials.inverse());
    Values hidden;
    {
      Builder::Scope scope(builder_, "feed-forward");
      hidden = nn::encrypted_gelu_of_real(builder_, projected.halves, polynomials.gelu);
    }
    return output(stream.x, attention, hidden, folded);
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
  using Bias = PositionConstants::Bias;

  // The instruction that made `first` is one that depends on the position.
  Value depends(Kind kind, size_t ciphertext, int block, Value first) {
    constants_.constants_.push_back(
        {kind, constants_.layers_.size() - 1, ciphertext, block, {.results = {first}}});
    return first;
  }
  const PositionConstants::Factors& factors() const { return constants_.layers_.back(); }
  // The weight's full name in the current layer.
  std::string name(const char* weight) const { return weight_name(constants_.layers_.size() - 1, weight); }

  // Blocks of the rows of q, k and v, of `which` 0, 1 and 2.
  int head_block(int which, size_t c) const {
    return which * static_cast<int>(of_heads_.size()) + static_cast<int>(c);
  }

  struct Projections {
    Values queries;       // half of q~: twice the real part of its product is the score
    Values keys, values;  // what is added to the caches
    Values halves;        // of what gelu reads, in stacks
  };

  // r of the norm is the same in all slots: what is taken out of the projection's regions waits for nobody
  // while r is computed.
  Projections project(const Stream& stream, const FoldedLayer& folded,
                      const LayerApproximations& polynomials) {
    Builder::Scope scope(builder_, "query, key, value, up");
    const nn::SlotMatrix matrices[] = {folded.q, folded.k, in_unit(folded.v, folded), folded.up};
    const bool normalised = !stream.h.empty();
    Values all = weights_.linear(nn::dense_sources(builder_, normalised ? stream.h : stream.x),
                                 nn::dense_map(nn::above_one_another(matrices), project_, of_state_),
                                 name("query, key, value, up"));
    for (Value& value : all) value = nn::sum_over_places(builder_, value, project_);
    Values parts;
    const size_t heads = of_heads_.size();
    for (size_t c = 0; c < heads; ++c) parts.push_back(query(all, c));
    for (size_t c = 0; c < heads; ++c) parts.push_back(entry(all, c, Kind::kKeyMask));
    for (size_t c = 0; c < heads; ++c) parts.push_back(entry(all, c, Kind::kValueMask));
    for (const Value value : halves(all)) parts.push_back(value);
    if (!normalised)
      parts = nn::products_with_inverse_deviation_of_token(builder_, weights_, stream.x,
                                                           folded.variance_weight, folded.variance_offset,
                                                           polynomials.inverse_sqrt, parts, name("variance"));
    Projections projected;
    for (size_t c = 0; c < heads; ++c) {
      projected.queries.push_back(with_bias(Bias::kQuery, parts[c], c));
      projected.keys.push_back(with_bias(Bias::kKey, parts[heads + c], c));
      projected.values.push_back(with_bias(Bias::kValue, parts[2 * heads + c], c));
    }
    for (size_t i = 0; i < ffn_.size(); ++i)
      projected.halves.push_back(weights_.add(parts[3 * heads + i],
                                              nn::spread(hidden_, ffn_[i], folded.up_bias),
                                              name("bias of up") + " " + std::to_string(i)));
    return projected;
  }

  // What q, k or v has besides W x', as its mask leaves it.
  Value with_bias(Bias which, Value x, size_t c) {
    if (!weights_.encrypted())
      return depends(Kind::kBias, c, static_cast<int>(which),
                     builder_.add_plain(x, constants_.bias(factors(), which, c, 0)));
    constexpr const char* kNames[] = {"bias of query ", "bias of key ", "bias of value "};
    const size_t i = static_cast<size_t>(which);
    const Value bias = weights_.input(factors().biases[i][c], false, name(kNames[i]) + std::to_string(c));
    return builder_.add(x,
                        depends(Kind::kBiasFactor, c, static_cast<int>(which),
                                builder_.multiply_plain(bias, constants_.bias_factor(factors(), which, 0))));
  }

  // v / value_range. Slots of q and k lie next to v's, and their masks would leak a part of a much larger v.
  static nn::SlotMatrix in_unit(nn::SlotMatrix v, const FoldedLayer& folded) {
    for (double& entry : v.entries) entry /= folded.value_range;
    return v;
  }

  static std::vector<ckks::Plain> in_unit(std::vector<ckks::Plain> biases, const FoldedLayer& folded) {
    for (ckks::Plain& v : biases) {
      if (!v.has_data()) continue;
      std::vector<ckks::Complex> values = v.to_vector();
      for (ckks::Complex& value : values) value /= folded.value_range;
      v = ckks::Plain(std::move(values));
    }
    return biases;
  }

  Value query(const Values& projected, size_t c) {
    const int block = head_block(0, c);
    const Value masked = depends(Kind::kQueryMask, c, block,
                                 builder_.multiply_plain(projected[project_.regions[block].output],
                                                         constants_.query_mask(factors(), block, 0)));
    return builder_.sum_over_rotations(masked, static_cast<size_t>(packing_.features));
  }

  // What is added to a cache.
  Value entry(const Values& projected, size_t c, Kind mask) {
    const int block = head_block(mask == Kind::kKeyMask ? 1 : 2, c);
    const PositionConstants::Offsets offsets = constants_.place_offsets(block, 0);
    const Value near = depends(Kind::kNearPlace, c, block,
                               builder_.rotate(projected[project_.regions[block].output], offsets.near));
    const Value moved = depends(Kind::kFarPlace, c, block, builder_.rotate(near, offsets.far));
    const Value entry =
        depends(mask, c, block,
                builder_.multiply_plain(moved, mask == Kind::kKeyMask ? constants_.key_mask(0)
                                                                      : constants_.value_mask(factors(), 0)));
    return builder_.sum_over_rotations(entry, packing_.period());
  }

  // The stacks that gelu reads, spread for the map behind it; their real parts count.
  Values halves(const Values& projected) {
    Values stacks;
    for (const nn::Stack& stack : ffn_) {
      std::vector<int> blocks;
      for (const int part : stack)
        blocks.push_back(part < 0 ? part : part + 3 * static_cast<int>(of_heads_.size()));
      const Value repeated[] = {builder_.sum_over_rotations(
          masked(projected, project_, blocks), static_cast<size_t>(ffn_places_ * packing_.features))};
      stacks.push_back(builder_.linear(repeated, to_spread_)[0]);
    }
    return stacks;
  }

  // These blocks in their regions alone.
  Value masked(const Values& from, const nn::DenseShape& shape, const std::vector<int>& blocks) {
    std::set<int> outputs;
    for (const int block : blocks)
      if (block >= 0) outputs.insert(shape.regions[block].output);
    Values parts;
    for (const int output : outputs)
      parts.push_back(builder_.multiply_plain(from[output], region_mask(shape, output, blocks)));
    return builder_.add_all(parts);
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
        if (!folded.score_offset.empty()) score = add_offsets(score, c);
        builder_.check_range(score, -bound, bound, "scores, over the root of the largest denominator");
      }
      {
        Builder::Scope inner(builder_, "power");
        powers.push_back(nn::power_of(builder_, score, constants_.power_));
      }
      Builder::Scope inner(builder_, "denominator");
      const Value sum = builder_.sum_over_rotations(powers.back(), F);
      row_sums.push_back(folded.row_sum_factor < 0 ? builder_.negate(sum) : sum);
    }
    const Values inverses = invert_row_sums(builder_, std::move(row_sums), folded, inverse,
                                            static_cast<size_t>(packing_.head_features));
    // The division goes first: V waits for nobody, and the powers stand lowest.
    Values outputs;
    for (size_t c = 0; c < queries.size(); ++c) {
      Value divided;
      {
        Builder::Scope inner(builder_, "division");
        divided = builder_.multiply(values[c], inverses[c]);
      }
      Builder::Scope inner(builder_, "values");
      outputs.push_back(builder_.sum_over_rotations(builder_.multiply(powers[c], divided), F));
    }
    return builder_.refresh(outputs);
  }

  // Encrypted offsets are multiplied by what plaintext ones hold already.
  Value add_offsets(Value score, size_t c) {
    if (!weights_.encrypted())
      return depends(Kind::kScoreOffsets, c, -1,
                     builder_.add_plain(score, constants_.score_offsets(factors(), c, 0)));
    std::vector<ckks::Complex> offsets;
    for (int f = 0; f < packing_.features; ++f)
      offsets.push_back(factors().score_offset[c][f / packing_.head_features]);
    const Value of_heads = weights_.input(ckks::Plain(std::move(offsets)), true,
                                          name("score offsets") + " " + std::to_string(c));
    return builder_.add(score,
                        depends(Kind::kScoreMask, c, -1,
                                builder_.multiply_plain(of_heads, constants_.score_mask(factors(), 0))));
  }

  Values output(const Values& x, const Values& attention, const Values& hidden, const FoldedLayer& folded) {
    Builder::Scope scope(builder_, "output");
    Values of_attention = weights_.linear(nn::dense_sources(builder_, attention),
                                          nn::dense_map(folded.o, attention_out_, of_heads_), name("output"));
    for (Value& value : of_attention) value = nn::sum_over_places(builder_, value, attention_out_);
    const Values of_hidden =
        weights_.linear(hidden, nn::spread_map(folded.down, hidden_, ffn_), name("down"));
    Values sum;
    for (size_t c = 0; c < x.size(); ++c) {
      const size_t F = static_cast<size_t>(packing_.features);
      const Value from_attention =
          builder_.sum_over_rotations(masked(of_attention, attention_out_, {static_cast<int>(c)}), F);
      const Value change = builder_.add(from_attention, nn::sum_over_slots(builder_, of_hidden[c], hidden_));
      sum.push_back(builder_.add(
          x[c], weights_.add(change, folded.out_bias[c], name("bias of output") + " " + std::to_string(c))));
    }
    return sum;
  }

  static std::vector<nn::Stack> single_blocks(int count) {
    std::vector<nn::Stack> stacks;
    for (int block = 0; block < count; ++block) stacks.push_back({block});
    return stacks;
  }

  Builder& builder_;
  nn::WeightInputs& weights_;
  const Packing& packing_;
  int ffn_places_ = 1;
  PositionConstants constants_;
  std::vector<nn::Stack> of_state_, of_heads_, ffn_;  // blocks of columns: of the state, heads, hidden units
  nn::DenseShape project_, attention_out_;
  nn::SpreadShape hidden_;
  ckks::LinearTransform to_spread_;
};

Program DecodeProgram::at(int position) const {
  return program::with_constants(program, constants.at(position));
}

namespace {

// folded(n), polynomials(n): layer n's.
template <typename Folded, typename Polynomials>
DecodeProgram build(const ModelConfig& config, const Packing& packing, bool client_norm, Weights kind,
                    const Folded& folded, const Polynomials& polynomials,
                    program::PlainKeeper* keeper = nullptr) {
  require_decodable(config);
  require_one_sequence(packing, 1);
  Builder builder(packing.slots, keeper);
  nn::WeightInputs weights(builder, kind == Weights::kEncrypted);
  Decoder decoder(builder, weights, config, packing);
  const auto state = [&](const char* name) {
    return state_inputs(builder, packing, name, static_cast<size_t>(packing.features));
  };
  Stream stream{state("x"), {}};
  if (client_norm) stream.h = state("h");
  for (int n = 0; n < config.layers; ++n) {
    Builder::Scope scope(builder, "layer " + std::to_string(n));
    const FoldedLayer& layer = folded(n);
    const LayerApproximations& functions = polynomials(n);
    Values keys, values;
    for (int c = 0; c < packing.head_ciphertexts(); ++c) {
      keys.push_back(builder.input(keys_name(packing, n, c), false, packing.period()));
      values.push_back(builder.input(values_name(packing, n, c), false, packing.period()));
    }
    if (stream.h.empty()) stream.x = builder.refresh(stream.x);
    stream = {decoder.layer(stream, layer, functions, keys, values), {}};
    for (int c = 0; c < packing.head_ciphertexts(); ++c) {
      builder.output(keys_name(packing, n, c), keys[c]);
      builder.output(values_name(packing, n, c), values[c]);
    }
  }
  state_outputs(builder, packing, stream.x);
  Program program = std::move(builder).finish();
  PositionConstants constants = std::move(decoder).constants_in(program);
  return {std::move(program), std::move(constants), std::move(weights).take()};
}

}  // namespace

DecodeProgram build_decode_program(const PolynomialModel& model, const Packing& packing, Weights weights,
                                   program::PlainKeeper* keeper) {
  FoldedLayer folded;
  return build(
      model.weights.config, packing, model.options.client_norm, weights,
      [&](int n) -> const FoldedLayer& { return folded = fold_layer(model, packing, n); },
      [&](int n) -> const LayerApproximations& { return model.layers[n]; }, keeper);
}

DecodeProgram build_decode_shape_program(const ModelConfig& config, const Packing& packing,
                                         const ShapeRanges& ranges, const PolynomialOptions& options,
                                         Weights weights) {
  const FoldedLayer folded = shape_of_layer(config, packing);
  const LayerApproximations polynomials = shape_polynomials(config, ranges, options);
  return build(
      config, packing, options.client_norm, weights, [&](int) -> const FoldedLayer& { return folded; },
      [&](int) -> const LayerApproximations& { return polynomials; });
}

}  // namespace psm::attention
