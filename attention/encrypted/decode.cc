#include "attention/encrypted/decode.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "attention/encrypted/encrypted_attention.h"
#include "attention/encrypted/encrypted_block.h"
#include "ckks/base/error.h"
#include "nn/encrypted/dense_linear.h"
#include "nn/encrypted/encrypted_function.h"
#include "nn/encrypted/encrypted_linear.h"
#include "nn/encrypted/encrypted_norm.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::Value;
using Values = std::vector<Value>;

constexpr size_t kLeastPlaces = 4;  // for rotations to the places of a cache (PositionConstants::to_place)

}  // namespace

Value PositionConstants::keep(Value made, Plains plain, std::function<int(int position)> offset) {
  constants_.push_back({made, std::move(plain), std::move(offset)});
  return made;
}

Value PositionConstants::multiply(Builder& builder, Value x, const Plains& plain) {
  return keep(builder.multiply_plain(x, (*plain)(0)), plain, {});
}

Value PositionConstants::add(Builder& builder, Value x, const Plains& plain) {
  return keep(builder.add_plain(x, (*plain)(0)), plain, {});
}

Value PositionConstants::to_place(Builder& builder, Value x, int from) {
  const int F = packing_.features, all = static_cast<int>(packing_.slots) / F, G = near_places();
  const auto modulo = [](int a, int m) { return (a % m + m) % m; };
  const auto near = [=](int position) { return 1 + modulo(from - position - 2, G); };
  const auto near_offset = [=](int position) { return near(position) * F; };
  const auto far_offset = [=](int position) { return modulo(from - position - near(position), all) * F; };
  x = keep(builder.rotate(x, near_offset(0)), nullptr, near_offset);
  return keep(builder.rotate(x, far_offset(0)), nullptr, far_offset);
}

int PositionConstants::near_places() const {
  return 1 << std::countr_zero(packing_.slots / static_cast<size_t>(packing_.features)) / 2;
}

program::Constants PositionConstants::at(int position) const {
  require_one_sequence(packing_, position + 1);
  std::map<const PlainAt*, ckks::Plain> plains;
  program::Constants constants;
  for (const Constant& constant : constants_) {
    if (constant.plain == nullptr) {
      constants.push_back({constant.result, {}, {constant.offset(position)}});
      continue;
    }
    const auto [known, is_new] = plains.try_emplace(constant.plain.get());
    if (is_new) known->second = (*constant.plain)(position);
    constants.push_back({constant.result, known->second});
  }
  return constants;
}

namespace {

// What all layers have in common, at position 0.
class Decoder {
 public:
  Decoder(Builder& builder, nn::WeightInputs& weights, PositionConstants& constants,
          const ModelConfig& config, const Packing& packing)
      : builder_(builder),
        weights_(weights),
        packing_(packing),
        power_(config.power),
        gated_(config.feed_forward == FeedForwardKind::kSwiGlu),
        sequential_(config.block == BlockKind::kPreNorm),
        theta_(rotary_angles(config, packing)),
        key_factor_([packing, theta = theta_](int t) { return cache_key_mask(packing, theta, t, t + 1); }),
        key_mask_(once(key_factor_, 0)),
        constants_(constants) {
    const int F = packing.features, heads = packing.head_ciphertexts(), keys = packing.key_ciphertexts(),
              parts = packing.ffn.size() / F;
    const size_t places = packing.slots / static_cast<size_t>(F);
    if (places < kLeastPlaces)
      throw Error(message("a further token needs ", kLeastPlaces, " places of ", F, " features, but ",
                          packing.slots, " slots have ", places, "; take a model with a longer context"));
    ffn_places_ = static_cast<int>(std::min(std::bit_ceil(static_cast<size_t>(parts)), places / 2));
    std::vector<nn::Congruence> rows(static_cast<size_t>(heads + 2 * keys)), feed_rows;
    for (int part = 0; part < parts; ++part) feed_rows.push_back({part % ffn_places_, ffn_places_});
    if (gated_) feed_rows.insert(feed_rows.end(), feed_rows.begin(), feed_rows.end());
    const std::vector<nn::Congruence> state(static_cast<size_t>(packing.state_ciphertexts()));
    if (!sequential_) {
      feed_block_ = static_cast<int>(rows.size());
      rows.insert(rows.end(), feed_rows.begin(), feed_rows.end());
    }
    project_ = nn::choose_dense_shape(packing.slots, F, packing.state_ciphertexts(), rows);
    feed_ = sequential_ ? nn::choose_dense_shape(packing.slots, F, packing.state_ciphertexts(), feed_rows)
                        : project_;
    attention_out_ = nn::choose_dense_shape(packing.slots, F, heads, state);
    hidden_ = {packing.slots, F, ffn_places_, parts};
    to_spread_ = nn::spreading(hidden_);
  }

  // The new x'; the token enters keys and values.
  Values layer(const Stream& stream, FoldedLayer folded, const LayerApproximations& polynomials, Values& keys,
               Values& values) {
    ++layer_;
    put_values_in_unit(folded);
    score_ = std::pow(std::abs(folded.row_sum_factor), 1.0 / power_);
    Projections projected = project(stream, folded, polynomials);
    for (size_t c = 0; c < keys.size(); ++c) {
      Builder::Scope scope(builder_, "cache");
      keys[c] = builder_.add(keys[c], projected.k[c]);
      values[c] = builder_.add(values[c], projected.v[c]);
    }
    const Values attention = attend(projected.q, keys, values, folded, polynomials.inverse());
    Values x = stream.x;
    if (sequential_) {
      Builder::Scope scope(builder_, "output");
      x = builder_.refresh(sum(x, of_attention(attention, folded), folded.out_bias, "bias of output"));
      projected.half = feed(x, folded, polynomials);
    }
    const Values units = hidden(projected.half, polynomials.gelu);
    Builder::Scope scope(builder_, "output");
    if (sequential_) return sum(x, of_hidden(units, folded), folded.down_bias, "bias of down");
    Values change = of_attention(attention, folded);
    const Values from_hidden = of_hidden(units, folded);
    for (size_t c = 0; c < x.size(); ++c) change[c] = builder_.add(change[c], from_hidden[c]);
    return sum(x, change, folded.out_bias, "bias of output");
  }

 private:
  using PlainAt = PositionConstants::PlainAt;
  using Plains = PositionConstants::Plains;

  // A period of `factor` from slot `first` on, zero elsewhere: what rotations sum.
  Plains once(const PlainAt& factor, int first) const {
    return std::make_shared<const PlainAt>([factor, first, slots = packing_.slots](int t) {
      const ckks::Plain period = factor(t);
      std::vector<ckks::Complex> all(slots);
      std::ranges::copy(period.values(), all.begin() + first);
      return ckks::Plain(std::move(all));
    });
  }

  // x + factor weight. An encrypted weight is multiplied by what a plaintext one holds already.
  Value add_scaled(Value x, const ckks::Plain& weight, bool real, const std::string& name,
                   const PlainAt& factor) {
    if (weights_.encrypted())
      return builder_.add(x, constants_.multiply(builder_, weights_.input(weight, real, name),
                                                 std::make_shared<const PlainAt>(factor)));
    return constants_.add(builder_, x, std::make_shared<const PlainAt>([weight, factor](int t) {
                            const ckks::Plain scale = factor(t);
                            if (!weight.has_data()) return ckks::Plain::shape_only(scale.period(), false);
                            std::vector<ckks::Complex> slots = scale.to_vector();
                            const ckks::PlainValues weights = weight.values();
                            for (size_t slot = 0; slot < slots.size(); ++slot)
                              slots[slot] *= weights[slot % weights.size()];
                            return ckks::Plain(std::move(slots));
                          }));
  }

  // The weight's full name in the current layer.
  std::string name(const char* weight) const { return "layer " + std::to_string(layer_) + " / " + weight; }

  // In q half of q~, twice the real part of whose product is the score; in k and v what is added to the caches; in half
  // stacks. r of the norm is the same in all slots: what is taken out of the projection's regions waits for nobody
  // while r is computed.
  Projections project(const Stream& stream, const FoldedLayer& folded,
                      const LayerApproximations& polynomials) {
    const char* label = sequential_ ? "query, key, value" : "query, key, value, up";
    Builder::Scope scope(builder_, label);
    const bool normalised = !stream.h.empty();
    const Values all = in_regions(normalised ? stream.h : stream.x, nn::above_one_another(folded.projections),
                                  project_, label);
    // half |s|^{1/p} (t + 1)^{-1/p} e^{i theta t}
    const PlainAt query_factor = [power = power_, score = score_, theta = theta_,
                                  F = static_cast<size_t>(packing_.features)](int t) {
      std::vector<ckks::Complex> factor(F);
      for (size_t f = 0; f < F; ++f)
        factor[f] = std::polar(score * row_scale(t, power) / 2, theta[f % theta.size()] * t);
      return ckks::Plain(std::move(factor));
    };
    const PlainAt value_factor = [packing = packing_,
                                  factor = folded.value_range / std::abs(folded.row_sum_factor)](int t) {
      return cache_value_mask(packing, factor, t, t + 1);
    };
    Values parts;
    const Plains value_mask = once(value_factor, 0);  // one for all ciphertexts, which `at` then makes once
    const size_t heads = static_cast<size_t>(packing_.head_ciphertexts()),
                 keys = static_cast<size_t>(packing_.key_ciphertexts());
    for (size_t c = 0; c < heads; ++c) parts.push_back(query(all, c, query_factor));
    for (size_t c = 0; c < keys; ++c) parts.push_back(entry(all, heads + c, key_mask_));
    for (size_t c = 0; c < keys; ++c) parts.push_back(entry(all, heads + keys + c, value_mask));
    if (!sequential_)
      for (const Value value : halves(all)) parts.push_back(value);
    if (!normalised)
      parts = nn::products_with_inverse_deviation(builder_, stream.x, folded.norm, polynomials.inverse_sqrt,
                                                  parts, &weights_, name("variance"));
    // What q, k and v have besides W x', as their masks leave it.
    const auto with_bias = [&](size_t part, const std::vector<ckks::Plain>& bias, const char* which, size_t c,
                               const PlainAt& factor) {
      const Value value = parts[part + c];
      return bias.empty() ? value
                          : add_scaled(value, bias[c], false, name(which) + std::to_string(c), factor);
    };
    Projections projected;
    for (size_t c = 0; c < heads; ++c)
      projected.q.push_back(with_bias(0, folded.q_bias, "bias of query ", c, query_factor));
    for (size_t c = 0; c < keys; ++c) {
      projected.k.push_back(with_bias(heads, folded.k_bias, "bias of key ", c, key_factor_));
      projected.v.push_back(with_bias(heads + keys, folded.v_bias, "bias of value ", c, value_factor));
    }
    if (!sequential_)
      projected.half =
          with_bias_of_feed({parts.begin() + static_cast<ptrdiff_t>(heads + 2 * keys), parts.end()}, folded);
    return projected;
  }

  // W_up N(x) of a sequential block, as project() has it of a parallel one.
  Values feed(const Values& x, const FoldedLayer& folded, const LayerApproximations& polynomials) {
    Builder::Scope scope(builder_, "up");
    const Values parts = halves(in_regions(x, nn::above_one_another(folded.feed), feed_, "up"));
    return with_bias_of_feed(
        nn::products_with_inverse_deviation(builder_, x, folded.second_norm, *polynomials.second_inverse_sqrt,
                                            parts, &weights_, name("second variance")),
        folded);
  }

  // The product of a matrix in the regions of its shape.
  Values in_regions(const Values& x, const nn::SlotMatrix& matrix, const nn::DenseShape& shape,
                    const char* label) {
    Values all = weights_.linear(nn::dense_sources(builder_, x), nn::dense_map(matrix, shape), name(label));
    for (Value& value : all) value = builder_.sum_of_rotations(value, shape.stride(), shape.places());
    return all;
  }

  Values with_bias_of_feed(Values halves, const FoldedLayer& folded) {
    const std::span<const ckks::Plain> bias(folded.feed_bias);
    const size_t blocks = bias.size() / (gated_ ? 2 : 1);  // of a matrix
    for (size_t i = 0; i < halves.size() && !bias.empty(); ++i) {
      const size_t stacks = static_cast<size_t>(hidden_.stacks()), matrix = i / stacks, stack = i % stacks;
      const char* which = gated_ && matrix == 0 ? "bias of gate" : "bias of up";
      halves[i] = weights_.add(
          halves[i], nn::spread(hidden_, static_cast<int>(stack), bias.subspan(matrix * blocks, blocks)),
          name(which) + " " + std::to_string(stack));
    }
    return halves;
  }

  // v / value_range. Slots of q and k lie next to v's, and their masks would leak a part of a much larger v.
  static void put_values_in_unit(FoldedLayer& folded) {
    nn::SlotMatrix& v = folded.projections[2];
    for (double& entry : v.entries) entry /= folded.value_range;
    for (ckks::Plain& bias : folded.v_bias) {
      if (!bias.has_data()) continue;
      std::vector<ckks::Complex> values = bias.to_vector();
      for (ckks::Complex& value : values) value /= folded.value_range;
      bias = ckks::Plain(std::move(values));
    }
  }

  Value query(const Values& projected, size_t c, const PlainAt& factor) {
    const nn::DenseRegion& region = project_.regions[c];
    const Value masked = constants_.multiply(builder_, projected[region.output],
                                             once(factor, region.first * packing_.features));
    return builder_.sum_over_rotations(masked, static_cast<size_t>(packing_.features));
  }

  // What is added to a cache.
  Value entry(const Values& projected, size_t block, const Plains& mask) {
    const nn::DenseRegion& region = project_.regions[block];
    const Value moved = constants_.to_place(builder_, projected[region.output], region.first);
    return builder_.sum_over_rotations(constants_.multiply(builder_, moved, mask), packing_.period());
  }

  // The stacks that the functions of the hidden units read, the gates' first, spread for the map behind them; their
  // real parts count.
  Values halves(const Values& projected) {
    Values stacks;
    for (int first = feed_block_; first < static_cast<int>(feed_.regions.size()); first += hidden_.blocks)
      for (int stack = 0; stack < hidden_.stacks(); ++stack) {
        std::vector<int> blocks;
        for (int place = 0; place < hidden_.stack; ++place)
          if (const int part = hidden_.block(stack, place); part >= 0) blocks.push_back(first + part);
        const Value repeated[] = {builder_.sum_over_rotations(
            masked(projected, feed_, blocks), static_cast<size_t>(ffn_places_ * packing_.features))};
        stacks.push_back(builder_.linear(repeated, to_spread_)[0]);
      }
    return stacks;
  }

  Values hidden(const Values& halves, const approx::Approximation& gelu) {
    Builder::Scope scope(builder_, "feed-forward");
    return gated_ ? nn::encrypted_swiglu(builder_, halves, gelu, nn::Parts::kReal)
                  : nn::encrypted_gelu(builder_, halves, gelu, nn::Parts::kReal);
  }

  // These blocks in their regions alone.
  Value masked(const Values& from, const nn::DenseShape& shape, const std::vector<int>& blocks) {
    std::set<int> outputs;
    for (const int block : blocks) outputs.insert(shape.regions[block].output);
    Values parts;
    for (const int output : outputs)
      parts.push_back(builder_.multiply_plain(from[output], nn::region_mask(shape, output, blocks)));
    return builder_.add_all(parts);
  }

  // Attention of each ciphertext of heads, divided by V of folded_weights.h.
  Values attend(const Values& queries, const Values& keys, const Values& values, const FoldedLayer& folded,
                const approx::Approximation& inverse) {
    Builder::Scope scope(builder_, "attention");
    const size_t F = static_cast<size_t>(packing_.features);
    const size_t sharing = static_cast<size_t>(packing_.sharing());
    const std::vector<double> ones(F, 1.0);
    Values powers, row_sums;
    for (size_t c = 0; c < queries.size(); ++c) {
      Value score;
      {
        Builder::Scope inner(builder_, "scores");
        const Value products[] = {
            builder_.twice_real_part(builder_.multiply(builder_.conjugate(queries[c]), keys[c / sharing]))};
        score = builder_.linear(products, nn::block_sum_map(ones, packing_.head_features))[0];
        if (!folded.score_offset.empty()) score = add_offsets(score, folded.score_offset[c], c);
        builder_.check_range(score, -score_, score_, "scores, over the root of the largest denominator");
      }
      {
        Builder::Scope inner(builder_, "power");
        powers.push_back(nn::power_of(builder_, score, power_));
      }
      Builder::Scope inner(builder_, "denominator");
      const Value sum = builder_.sum_over_rotations(powers.back(), F);
      row_sums.push_back(folded.row_sum_factor < 0 ? builder_.negate(sum) : sum);
    }
    const Values inverses = invert_row_sums(builder_, std::move(row_sums), folded.denominator_offset, inverse,
                                            static_cast<size_t>(packing_.head_features));
    // The division goes first: V waits for nobody, and the powers stand lowest.
    Values outputs;
    for (size_t c = 0; c < queries.size(); ++c) {
      Value divided;
      {
        Builder::Scope inner(builder_, "division");
        divided = builder_.multiply(values[c / sharing], inverses[c]);
      }
      Builder::Scope inner(builder_, "values");
      outputs.push_back(builder_.sum_over_rotations(builder_.multiply(powers[c], divided), F));
    }
    return builder_.refresh(outputs);
  }

  Value add_offsets(Value score, const std::vector<double>& of_heads, size_t c) {
    const size_t F = static_cast<size_t>(packing_.features);
    std::vector<ckks::Complex> offsets;
    for (size_t f = 0; f < F; ++f)
      offsets.push_back(of_heads[f / static_cast<size_t>(packing_.head_features)]);
    const PlainAt mask = [power = power_, scale = score_, period = packing_.tokens * F, F](int t) {
      std::vector<ckks::Complex> slots(period);
      std::fill_n(slots.begin(), static_cast<size_t>(t + 1) * F, scale * row_scale(t, power));
      return ckks::Plain(std::move(slots));
    };
    return add_scaled(score, ckks::Plain(std::move(offsets)), true,
                      name("score offsets") + " " + std::to_string(c), mask);
  }

  // W_o attention in all places.
  Values of_attention(const Values& attention, const FoldedLayer& folded) {
    const Values regions = in_regions(attention, folded.o, attention_out_, "output");
    Values outputs;
    for (int c = 0; c < packing_.state_ciphertexts(); ++c)
      outputs.push_back(builder_.sum_over_rotations(masked(regions, attention_out_, {c}),
                                                    static_cast<size_t>(packing_.features)));
    return outputs;
  }

  // W_down hidden in all places.
  Values of_hidden(const Values& hidden, const FoldedLayer& folded) {
    Values outputs = weights_.linear(hidden, nn::spread_map(folded.down, hidden_), name("down"));
    for (Value& value : outputs)
      value = builder_.sum_over_rotations(value, static_cast<size_t>(packing_.features));
    return outputs;
  }

  // x + change + bias
  Values sum(const Values& x, const Values& change, const std::vector<ckks::Plain>& bias, const char* label) {
    Values sums;
    for (size_t c = 0; c < x.size(); ++c)
      sums.push_back(
          builder_.add(x[c], weights_.add(change[c], bias[c], name(label) + " " + std::to_string(c))));
    return sums;
  }

  Builder& builder_;
  nn::WeightInputs& weights_;
  const Packing& packing_;
  int power_, ffn_places_ = 1, layer_ = -1;
  bool gated_, sequential_;
  double score_ = 1;  // |s|^{1/p} of the layer
  std::vector<double> theta_;
  PlainAt key_factor_;
  Plains key_mask_;  // of all layers
  PositionConstants& constants_;
  nn::DenseShape project_, attention_out_;
  // The hidden units' rows, from block feed_block_ on; a parallel block's are project_'s.
  nn::DenseShape feed_;
  int feed_block_ = 0;
  nn::SpreadShape hidden_;
  ckks::LinearTransform to_spread_;
};

}  // namespace

DecodeProgram build_decode_program(const PolynomialModel& model, const Packing& packing,
                                   bool encrypted_weights, program::PlainKeeper* keeper) {
  const ModelConfig& config = model.weights.config;
  require_decodable(config);
  require_one_sequence(packing, 1);
  Builder builder(packing.slots, keeper);
  nn::WeightInputs weights(builder, encrypted_weights);
  PositionConstants constants(packing);
  Decoder decoder(builder, weights, constants, config, packing);
  const auto state = [&](const char* name) {
    return state_inputs(builder, packing, name, static_cast<size_t>(packing.features));
  };
  Stream stream{state("x"), state("h")};
  for (int n = 0; n < config.layers; ++n) {
    Builder::Scope scope(builder, "layer " + std::to_string(n));
    FoldedLayer layer = fold_layer(model, packing, n);
    Values keys, values;
    for (int c = 0; c < packing.key_ciphertexts(); ++c) {
      keys.push_back(builder.input(cache_name(packing, n, "keys", c), false, packing.period()));
      values.push_back(builder.input(cache_name(packing, n, "values", c), false, packing.period()));
    }
    if (stream.h.empty()) stream.x = builder.refresh(stream.x);
    stream = {decoder.layer(stream, std::move(layer), model.layers[n], keys, values), {}};
    for (int c = 0; c < packing.key_ciphertexts(); ++c) {
      builder.output(cache_name(packing, n, "keys", c), keys[c]);
      builder.output(cache_name(packing, n, "values", c), values[c]);
    }
  }
  add_outputs(builder, ciphertext_names("y", packing.state_ciphertexts()), stream.x);
  return {std::move(builder).finish(), std::move(constants), std::move(weights).take()};
}

}  // namespace psm::attention
