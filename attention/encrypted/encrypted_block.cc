#include "attention/encrypted/encrypted_block.h"

#include <algorithm>

#include "nn/encrypted/encrypted_gelu.h"
#include "nn/encrypted/encrypted_power.h"

namespace psm::attention {

using program::Builder;
using program::Value;

namespace {

using Values = std::vector<Value>;

Values add_biases(Builder& builder, std::span<const Value> values, const std::vector<ckks::Plain>& biases) {
  Values sums;
  for (size_t i = 0; i < values.size(); ++i) sums.push_back(builder.add_plain(values[i], biases[i]));
  return sums;
}

// Attention of one ciphertext of heads, divided by V.
Values encrypted_heads(Builder& builder, const Values& q, const Values& k, const Values& v,
                       const FoldedLayer& folded, const approx::Approximation& inverse,
                       const AttentionMasks& masks, int power) {
  Builder::Scope scope(builder, "attention");
  Values scores;
  {
    Builder::Scope inner(builder, "scores");
    for (size_t c = 0; c < q.size(); ++c) {
      Values of_heads = masks.scores(builder, q[c], k[c]);
      if (!folded.score_offset.empty())
        for (size_t m = 0; m < of_heads.size(); ++m)
          of_heads[m] = builder.add_plain(of_heads[m],
                                          masks.score_offsets(static_cast<int>(m), folded.score_offset[c]));
      scores.insert(scores.end(), of_heads.begin(), of_heads.end());
    }
    for (Value score : scores)
      builder.check_range(score, -1, 1, "scores, over the root of the largest denominator");
    scores = builder.refresh(scores);
  }
  const size_t M = static_cast<size_t>(masks.score_ciphertexts());
  std::vector<Values> powers(q.size());
  {
    Builder::Scope inner(builder, "power");
    for (size_t i = 0; i < scores.size(); ++i)
      powers[i / M].push_back(nn::power_of(builder, scores[i], power));
  }
  Values denominators;
  {
    Builder::Scope inner(builder, "denominator");
    for (size_t c = 0; c < q.size(); ++c)
      denominators.push_back(masks.row_sums(builder, powers[c], folded.row_sum_factor));
  }
  denominators = invert_row_sums(builder, std::move(denominators), folded, inverse);
  Values outputs;
  for (size_t c = 0; c < q.size(); ++c) {
    Value sum;
    {
      Builder::Scope inner(builder, "values");
      sum = masks.weigh(builder, powers[c], v[c]);
    }
    Builder::Scope inner(builder, "division");
    outputs.push_back(builder.multiply(sum, denominators[c]));
  }
  Builder::Scope inner(builder, "division");
  return builder.refresh(outputs);
}

}  // namespace

Projections project(Builder& builder, const Values& h, const FoldedLayer& folded, const Packing& packing) {
  Builder::Scope scope(builder, "query, key, value, up");
  const nn::SlotMatrix matrices[] = {folded.q, folded.k, folded.v, folded.up};
  const Values all = nn::encrypted_linear(builder, h, matrices);
  const size_t heads = static_cast<size_t>(packing.head_ciphertexts());
  const std::span<const Value> from(all);
  return {.q = add_biases(builder, from.subspan(0, heads), folded.q_bias),
          .k = add_biases(builder, from.subspan(heads, heads), folded.k_bias),
          .v = add_biases(builder, from.subspan(2 * heads, heads), folded.v_bias),
          .half = add_biases(builder, from.subspan(3 * heads), folded.up_bias)};
}

Values invert_row_sums(Builder& builder, Values row_sums, const FoldedLayer& folded,
                       const approx::Approximation& inverse) {
  Builder::Scope scope(builder, "denominator");
  Values denominators = builder.refresh(add_biases(builder, row_sums, folded.denominator_offset));
  for (Value& denominator : denominators) denominator = inverse.build(builder, denominator, "denominator");
  return builder.refresh(denominators);
}

Values encrypted_block(Builder& builder, const Values& x, const Projections& of_h, const FoldedLayer& folded,
                       const LayerApproximations& polynomials, const AttentionMasks& masks, int power,
                       const Packing& packing) {
  const Values attention =
      encrypted_heads(builder, of_h.q, of_h.k, of_h.v, folded, polynomials.inverse(), masks, power);
  Values hidden;
  {
    Builder::Scope scope(builder, "feed-forward");
    hidden = nn::encrypted_gelu(builder, of_h.half, polynomials.gelu);
  }
  Builder::Scope scope(builder, "output");
  // W_o and W_down as one matrix [o | down]: they share the giant steps.
  const nn::SlotMatrix o[] = {folded.o}, down[] = {folded.down};
  const Values a = nn::linear_sources(builder, attention, packing.features);
  const Values b = nn::linear_sources(builder, hidden, packing.features);
  Values sources = a;
  sources.insert(sources.end(), b.begin(), b.end());
  const nn::LinearSteps steps = nn::choose_linear_steps(
      packing.features, static_cast<int>(attention.size() + hidden.size()), static_cast<int>(x.size()));
  ckks::LinearTransform map = nn::linear_map(o, steps);
  for (ckks::TransformTerm& term : nn::linear_map(down, steps).terms) {
    term.input += static_cast<int>(a.size());
    map.terms.push_back(std::move(term));
  }
  const Values change = add_biases(builder, builder.linear(sources, std::move(map)), folded.out_bias);
  Values sum;
  for (size_t c = 0; c < x.size(); ++c) sum.push_back(builder.add(x[c], change[c]));
  return sum;
}

}  // namespace psm::attention
