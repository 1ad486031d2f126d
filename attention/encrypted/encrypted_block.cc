#include "attention/encrypted/encrypted_block.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "nn/encrypted/dense_linear.h"
#include "nn/encrypted/encrypted_function.h"
#include "nn/encrypted/encrypted_norm.h"

namespace psm::attention {
namespace {

using program::Builder;
using program::Value;
using Values = std::vector<Value>;

Values add_biases(Builder& builder, std::span<const Value> values, const std::vector<ckks::Plain>& biases) {
  Values sums(values.begin(), values.end());
  for (size_t i = 0; i < sums.size() && !biases.empty(); ++i) sums[i] = builder.add_plain(sums[i], biases[i]);
  return sums;
}

// A map's outputs + bias, as the state is laid out.
Values to_state(Builder& builder, const Values& sources, ckks::LinearTransform map,
                const std::vector<ckks::Plain>& bias, const Packing& packing) {
  Values z = builder.linear(sources, std::move(map));
  nn::take_real_parts(builder, z, packing.state.reals / packing.features);
  return add_biases(builder, z, bias);
}

// A matrix and what it is multiplied with.
struct Term {
  const nn::SlotMatrix& matrix;
  const Values& of;
};

// A map and what it reads.
struct Skip {
  ckks::LinearTransform map = {};
  Values sources = {};
};

// The path of h around a branch. A sum of F slots in a token's last slot holds no other token's; this one is
// kept, and spread over the token.
Skip skip_of(Builder& builder, const Values& h, const FoldedSkip& folded, const Packing& packing) {
  Skip skip{folded.sum, nn::dense_sources(builder, h)};
  if (folded.mean.terms.empty()) return skip;
  const Value sum =
      builder.sum_of_rotations(builder.linear(skip.sources, folded.mean)[0], 1, packing.features);
  std::vector<ckks::Complex> last(static_cast<size_t>(packing.features));
  last.back() = 1;
  skip.sources.push_back(builder.sum_of_rotations(builder.multiply_plain(sum, ckks::Plain(std::move(last))),
                                                  1, packing.features));
  return skip;
}

// sum of the terms + bias, as one matrix [A | B ...]: they share the giant steps. A skip adds to it.
Values sum_of_maps(Builder& builder, std::initializer_list<Term> terms, const std::vector<ckks::Plain>& bias,
                   const Packing& packing, Skip skip = {}) {
  std::vector<Values> of_terms;
  size_t count = 0;
  for (const Term& term : terms)
    count += of_terms.emplace_back(nn::linear_sources(builder, term.of, term.matrix)).size();
  const int babies = nn::choose_linear_babies(packing.features, count, static_cast<int>(bias.size()));
  Values sources;
  ckks::LinearTransform map;
  const auto append = [&](const Values& of_part, ckks::LinearTransform part) {
    map.outputs = std::max(map.outputs, part.outputs);
    for (ckks::TransformTerm& each : part.terms) {
      each.input += static_cast<int>(sources.size());
      map.terms.push_back(std::move(each));
    }
    sources.insert(sources.end(), of_part.begin(), of_part.end());
  };
  for (size_t i = 0; i < terms.size(); ++i)
    append(of_terms[i], nn::linear_map({&terms.begin()[i].matrix, 1}, packing.features, babies));
  append(skip.sources, std::move(skip.map));
  return to_state(builder, sources, std::move(map), bias, packing);
}

Values add(Builder& builder, const Values& x, const Values& y) {
  Values sum;
  for (size_t c = 0; c < x.size(); ++c) sum.push_back(builder.add(x[c], y[c]));
  return sum;
}

}  // namespace

Values encrypted_head(Builder& builder, const Values& state, const PolynomialModel& model,
                      const Packing& packing, Value mask) {
  const FoldedHead folded = fold_head(model, packing);
  Builder::Scope scope(builder, "head");
  // One token in place of all: the first, or the mean by the mask.
  const size_t stride = static_cast<size_t>(packing.token_stride());
  std::vector<ckks::Complex> first(packing.period());
  std::fill_n(first.begin(), stride, 1.0);
  const ckks::Plain plain(std::move(first));
  Values h;
  for (const Value value : builder.refresh(state))
    h.push_back(builder.sum_over_rotations(
        mask.valid() ? builder.multiply(value, mask) : builder.multiply_plain(value, plain), stride));
  if (mask.valid())
    h = to_state(builder, nn::dense_sources(builder, h), folded.mean, folded.mean_bias, packing);
  if (model.final_inverse_sqrt) {
    h = builder.refresh(h);
    h = nn::encrypted_norm(builder, h, folded.norm, *model.final_inverse_sqrt);
  }
  if (model.pooler) {
    h = add_biases(builder, nn::encrypted_linear(builder, h, {&folded.pooler, 1}), folded.pooler_bias);
    h = nn::encrypted_gelu(builder, h, *model.pooler, nn::Parts::kBoth, "sigmoid");
  }
  return add_biases(builder, nn::encrypted_linear(builder, h, {&folded.classes, 1}), folded.class_bias);
}

Values invert_row_sums(Builder& builder, Values row_sums, const std::vector<ckks::Plain>& offsets,
                       const approx::Approximation& inverse, size_t block) {
  Builder::Scope scope(builder, "denominator");
  Values denominators = add_biases(builder, row_sums, offsets);
  for (const Value& denominator : denominators) builder.mark_blocks(denominator, block);
  denominators = builder.refresh(denominators);
  for (Value& denominator : denominators)
    denominator = nn::build(builder, inverse, denominator, "denominator");
  return builder.refresh(denominators);
}

EncryptedBlocks::EncryptedBlocks(Builder& builder, const ModelConfig& config, const Packing& packing,
                                 Value lengths)
    : builder_(builder), config_(config), packing_(packing), lengths_(lengths) {
  const std::vector<double> angles = rotary_angles(config, packing);
  std::vector<double> scale;  // of encrypted_attention.h
  for (int t = 0; t < packing.tokens; ++t)
    scale.push_back(packing.causal              ? row_scale(t, config.power)
                    : packing.has_length_mask() ? 1  // that is the mask's
                                                : row_scale(packing.length - 1, config.power));
  if (packing.head_parts > 1) {
    long_.emplace(packing, angles, scale);
  } else {
    masks_.emplace(packing, angles, scale);
  }
  if (lengths_.valid() && config.has_score_offset())
    skewed_lengths_ = masks_->skewed_lengths(builder, lengths_);
}

Projections EncryptedBlocks::project(Stream& stream, const FoldedLayer& folded,
                                     const LayerApproximations& polynomials) const {
  const bool feeds = config_.block == BlockKind::kParallel, normalised = !stream.h.empty();
  Builder::Scope scope(builder_, feeds ? "query, key, value, up" : "query, key, value");
  if (!normalised) stream.x = builder_.refresh(stream.x);
  Values all = nn::encrypted_linear(builder_, normalised ? stream.h : stream.x, folded.projections);
  if (!normalised)
    all = nn::products_with_inverse_deviation(builder_, stream.x, folded.norm, polynomials.inverse_sqrt, all);
  const size_t heads = static_cast<size_t>(packing_.head_ciphertexts()),
               keys = static_cast<size_t>(packing_.key_ciphertexts());
  const std::span<const Value> from(all);
  return {.q = add_biases(builder_, from.subspan(0, heads), folded.q_bias),
          .k = add_biases(builder_, from.subspan(heads, keys), folded.k_bias),
          .v = add_biases(builder_, from.subspan(heads + keys, keys), folded.v_bias),
          .half = add_biases(builder_, from.subspan(heads + 2 * keys), folded.feed_bias)};
}

Values EncryptedBlocks::scores(Value q, AttentionMasks::Shared& shared, const FoldedLayer& folded,
                               size_t c) const {
  Builder::Scope scope(builder_, "scores");
  if (lengths_.valid() && shared.keys.empty()) shared.k = builder_.multiply(shared.k, lengths_);
  Values scores = masks_->scores(builder_, q, shared);
  if (folded.score_offset.empty()) return scores;
  for (size_t m = 0; m < scores.size(); ++m)
    scores[m] = lengths_.valid()
                    ? builder_.add(scores[m],
                                   builder_.multiply_plain(skewed_lengths_[m],
                                                           masks_->offsets_of_heads(folded.score_offset[c])))
                    : builder_.add_plain(scores[m],
                                         masks_->score_offsets(static_cast<int>(m), folded.score_offset[c]));
  return scores;
}

Values EncryptedBlocks::powers(Values scores, const ckks::Plain& counts) const {
  {
    Builder::Scope scope(builder_, "scores");
    scores = builder_.refresh(scores);
    for (const Value score : scores)
      builder_.check_range(score, -1, 1, "scores, over the root of the largest denominator", counts);
  }
  Builder::Scope scope(builder_, "power");
  for (Value& score : scores) score = nn::power_of(builder_, score, config_.power);
  return scores;
}

// Scores and powers of one ciphertext of whole heads are gone before those of the next are made: there may be
// many of them. What queries share stays for all of them. The denominators of all are refreshed together.
Values EncryptedBlocks::attend(const Projections& of_h, const FoldedLayer& folded,
                               const approx::Approximation& inverse) const {
  Builder::Scope scope(builder_, "attention");
  Values row_sums, sums;
  if (long_) {
    const std::vector<Values> of_steps = long_->powers(
        builder_, of_h.q, of_h.k,
        folded.score_offset.empty() ? std::vector<double>{} : folded.score_offset[0],
        [&](const Values& scores, const ckks::Plain& counts) { return powers(scores, counts); });
    row_sums.push_back(long_->row_sums(builder_, of_steps, folded.row_sum_factor));
    sums = long_->weigh(builder_, of_steps, of_h.v);
    const Values inverses = invert_row_sums(builder_, row_sums, folded.denominator_offset, inverse);
    Builder::Scope inner(builder_, "division");
    return builder_.refresh(long_->divide(builder_, sums, inverses[0]));
  }
  const size_t sharing = static_cast<size_t>(packing_.sharing());
  AttentionMasks::Shared shared;
  for (size_t c = 0; c < of_h.q.size(); ++c) {
    if (c % sharing == 0) shared = {.k = of_h.k[c / sharing], .v = of_h.v[c / sharing]};
    const Values of_scores = powers(scores(of_h.q[c], shared, folded, c));
    row_sums.push_back(builder_.add_all(of_scores));
    Builder::Scope inner(builder_, "values");
    sums.push_back(masks_->weigh(builder_, of_scores, shared));
  }
  Values inverses;
  {
    Builder::Scope inner(builder_, "denominator");
    inverses = masks_->row_sums(builder_, row_sums, folded.row_sum_factor);
  }
  inverses = invert_row_sums(builder_, inverses, masks_->gathered(folded.denominator_offset), inverse);
  Builder::Scope inner(builder_, "division");
  inverses = masks_->scattered(builder_, inverses, sums.size());
  for (size_t c = 0; c < sums.size(); ++c) sums[c] = builder_.multiply(sums[c], inverses[c]);
  return builder_.refresh(sums);
}

// The hidden units from what their functions read: halves of gates first, then of up.
Values EncryptedBlocks::hidden(const Values& half, const approx::Approximation& gelu) const {
  return config_.feed_forward == FeedForwardKind::kSwiGlu ? nn::encrypted_swiglu(builder_, half, gelu)
                                                          : nn::encrypted_gelu(builder_, half, gelu);
}

Stream EncryptedBlocks::finish(const Stream& stream, const Projections& of_h, const FoldedLayer& folded,
                               const LayerApproximations& polynomials) const {
  const Values attention = attend(of_h, folded, polynomials.inverse());
  if (config_.block == BlockKind::kParallel) {
    Values units;
    {
      Builder::Scope scope(builder_, "feed-forward");
      units = hidden(of_h.half, polynomials.gelu);
    }
    Builder::Scope scope(builder_, "output");
    return {
        add(builder_, stream.x,
            sum_of_maps(builder_, {{folded.o, attention}, {folded.down, units}}, folded.out_bias, packing_)),
        {}};
  }
  const bool post_norm = config_.block == BlockKind::kPostNorm;
  Values state;  // x + A; or g of kPostNorm
  {
    Builder::Scope scope(builder_, "output");
    Skip skip;
    if (post_norm) skip = skip_of(builder_, stream.h, folded.skip, packing_);
    state = sum_of_maps(builder_, {{folded.o, attention}}, folded.out_bias, packing_, std::move(skip));
    state = builder_.refresh(post_norm ? state : add(builder_, stream.x, state));
    if (post_norm) state = nn::encrypted_norm(builder_, state, folded.norm, polynomials.inverse_sqrt);
  }
  Builder::Scope scope(builder_, "feed-forward");
  const approx::Approximation& second_inverse_sqrt = *polynomials.second_inverse_sqrt;
  Values sums = nn::encrypted_linear(builder_, state, folded.feed);
  if (!post_norm)
    sums =
        nn::products_with_inverse_deviation(builder_, state, folded.second_norm, second_inverse_sqrt, sums);
  const Values units = hidden(add_biases(builder_, sums, folded.feed_bias), polynomials.gelu);
  Skip skip;
  if (post_norm) skip = skip_of(builder_, state, folded.feed_skip, packing_);
  const Values change =
      sum_of_maps(builder_, {{folded.down, units}}, folded.down_bias, packing_, std::move(skip));
  if (!post_norm) return {add(builder_, state, change), {}};
  return {{},
          nn::encrypted_norm(builder_, builder_.refresh(change), folded.second_norm, second_inverse_sqrt)};
}

}  // namespace psm::attention
