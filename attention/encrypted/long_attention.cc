#include "attention/encrypted/long_attention.h"

#include <bit>
#include <cmath>
#include <map>
#include <utility>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::attention {

using program::Builder;
using program::Value;

namespace {

// A fine step takes versions of all keys and values, a coarse one versions of all queries, which stay in memory.
constexpr int kMostCoarseSteps = 8;
// Fine steps whose keys are rotated together.
constexpr int kKeysTogether = 2;

int coarse_steps(int distances) {
  int steps = 1;
  while (steps < kMostCoarseSteps && 8 * steps * steps <= distances) steps *= 2;
  return steps;
}

}  // namespace

Packing spread_heads(Packing packing, const ModelConfig& config) {
  const int C = packing.head_features, F = packing.features;
  const int heads = static_cast<int>(std::bit_ceil(static_cast<unsigned>(config.heads)));
  if (!packing.causal || packing.head_ciphertexts() == 1 || heads > F || packing.tokens < 8 * F)
    return packing;
  const int L = F / heads, parts = C / L, sharing = packing.sharing();
  const std::vector<int> none(static_cast<size_t>(parts * F), -1);
  FeatureLayout queries{none, none}, keys{none, none};
  for (int from = 0; from < packing.heads.size(); ++from) {
    const int row = packing.heads.re[from / C * C];
    if (row < 0) continue;
    const int a = from % C, to = a / L * F + row / config.head_dim() * L + a % L,
              of_key = from / F / sharing * F + from % F;
    queries.re[to] = packing.heads.re[from], queries.im[to] = packing.heads.im[from];
    keys.re[to] = packing.keys.re[of_key], keys.im[to] = packing.keys.im[of_key];
  }
  packing.heads = std::move(queries), packing.keys = std::move(keys);
  packing.head_features = L;
  packing.head_parts = parts;
  return packing;
}

LongAttention::LongAttention(const Packing& packing, const std::vector<double>& theta,
                             const std::vector<double>& scale)
    : tokens_(packing.tokens),
      features_(packing.features),
      lanes_(packing.head_features),
      parts_(packing.head_parts),
      coarse_(coarse_steps(packing.score_ciphertexts())),
      fine_(packing.score_ciphertexts() / coarse_),
      step_(fine_ * lanes_),
      scale_(scale) {
  const int L = lanes_, F = features_;
  PSM_CHECK(packing.period() == packing.slots && static_cast<int>(theta.size()) == parts_ * L &&
                static_cast<int>(scale_.size()) == tokens_,
            theta.size(), " angles, ", scale_.size(), " scales");
  std::vector<ckks::Plain> ones;
  for (int j = 0; j < L; ++j) ones.push_back(one_lane(j));

  // By angle: weights of lane j, of queries for step g at g L + j.
  std::map<double, std::vector<ckks::Plain>> query_weights, key_weights{{0, ones}};
  for (const double angle : theta) {
    std::vector<ckks::Plain>& of_queries = query_weights[angle];
    for (int g = 0; g < coarse_ && of_queries.size() < static_cast<size_t>(coarse_ * L); ++g)
      for (int j = 0; j < L; ++j)
        of_queries.push_back(lane(j, [&](int t) -> ckks::Complex {
          const int u = t + g * step_;
          return u < tokens_ ? std::polar(scale_[u] / 2, angle * u) : 0;
        }));
    std::vector<ckks::Plain>& of_keys = key_weights[angle];
    for (int j = static_cast<int>(of_keys.size()); j < L; ++j)
      of_keys.push_back(lane(j, [&](int t) { return std::polar(1.0, -angle * (t - j)); }));
  }
  for (int c = 0; c < parts_; ++c) {
    std::vector<const std::vector<ckks::Plain>*> weights;
    ckks::LinearTransform queries{.outputs = coarse_ * L};
    for (int f = 0; f < L; ++f) {
      const double angle = theta[c * L + f];
      weights.push_back(&key_weights[angle]);
      for (int g = 0; g < coarse_; ++g)
        for (int j = 0; j < L; ++j)
          queries.terms.push_back(
              {.output = g * L + f, .input = g, .baby = f - j, .weight = query_weights[angle][g * L + j]});
    }
    keys_.push_back(spread_map(weights));
    queries_.push_back(std::move(queries));
  }
  values_ = spread_map({static_cast<size_t>(L), &ones});

  value_masks_.outputs = fine_;
  for (int m = 0; m < fine_; ++m) {
    std::vector<ckks::Complex> counts(packing.slots);
    for (int t = 0; t < tokens_; ++t)
      for (int f = 0; f < F; ++f) counts[static_cast<size_t>(t) * F + f] = t >= L * m + f % L;
    const ckks::Plain mask(std::move(counts));
    value_masks_.terms.push_back({.output = m, .baby = -m * L * F, .weight = mask});
    power_masks_.terms.push_back({.input = m, .weight = mask});
  }
}

// entry(t) in lane j of every head of token t.
template <typename Entry>
ckks::Plain LongAttention::lane(int j, const Entry& entry) const {
  std::vector<ckks::Complex> slots(static_cast<size_t>(tokens_) * static_cast<size_t>(features_));
  for (int t = 0; t < tokens_; ++t)
    for (int f = j; f < features_; f += lanes_) slots[static_cast<size_t>(t) * features_ + f] = entry(t);
  return ckks::Plain(std::move(slots));
}

ckks::Plain LongAttention::one_lane(int j) const {
  std::vector<ckks::Complex> period(static_cast<size_t>(lanes_));
  period[j] = 1;
  return ckks::Plain(std::move(period));
}

ckks::LinearTransform LongAttention::spread_map(
    const std::vector<const std::vector<ckks::Plain>*>& weights) const {
  ckks::LinearTransform map{.outputs = lanes_};
  for (int f = 0; f < lanes_; ++f)
    for (int j = 0; j < lanes_; ++j)
      map.terms.push_back({.output = f, .input = j, .baby = f - j, .weight = (*weights[f])[j]});
  return map;
}

LongAttention::Values LongAttention::spread(Builder& builder, Value x,
                                            const ckks::LinearTransform& map) const {
  std::vector<int> tokens;
  for (int j = 0; j < lanes_; ++j) tokens.push_back(-j * features_);
  return builder.linear(builder.rotate_all(x, tokens), map);
}

std::vector<LongAttention::Values> LongAttention::powers(Builder& builder, const Values& q, const Values& k,
                                                         const std::vector<double>& c, Power power) const {
  std::vector<Values> queries;
  Values keys;
  std::vector<ckks::Plain> offset;
  {
    Builder::Scope scope(builder, "scores");
    std::vector<int> steps;
    for (int g = 0; g < coarse_; ++g) {
      steps.push_back(g * step_ * features_);
      if (c.empty()) continue;
      std::vector<ckks::Complex> slots(static_cast<size_t>(tokens_) * static_cast<size_t>(features_));
      for (int t = 0; t + g * step_ < tokens_; ++t)
        for (int f = 0; f < features_; ++f)
          slots[static_cast<size_t>(t) * features_ + f] = scale_[t + g * step_] * c[f / lanes_];
      offset.emplace_back(std::move(slots));
    }
    for (int part = 0; part < parts_; ++part) {
      queries.push_back(builder.linear(builder.rotate_all(q[part], steps), queries_[part]));
      for (const Value key : spread(builder, builder.conjugate(k[part]), keys_[part])) keys.push_back(key);
    }
  }
  std::vector<Values> powers(static_cast<size_t>(coarse_));
  for (int first = 0; first < fine_; first += kKeysTogether) {
    std::vector<int> distances;
    for (int m = first; m < std::min(first + kKeysTogether, fine_); ++m)
      distances.push_back(-m * lanes_ * features_);
    std::vector<Values> rotated;
    Values sums;  // one after the other, because they share factors
    {
      Builder::Scope scope(builder, "scores");
      for (const Value key : keys) rotated.push_back(builder.rotate_all(key, distances));
      for (int g = 0; g < coarse_; ++g)
        for (size_t i = 0; i < distances.size(); ++i) {
          std::vector<std::pair<Value, Value>> pairs;
          for (int a = 0; a < parts_ * lanes_; ++a)
            pairs.emplace_back(queries[a / lanes_][g * lanes_ + a % lanes_], rotated[a][i]);
          sums.push_back(builder.sum_of_products(pairs));
        }
    }
    for (size_t i = 0; i < distances.size(); ++i) {
      Values scores;
      {
        Builder::Scope scope(builder, "scores");
        for (int g = 0; g < coarse_; ++g) {
          // The queries carry half the scale, so twice the real part is the score.
          scores.push_back(builder.twice_real_part(sums[g * distances.size() + i]));
          if (!c.empty()) scores.back() = builder.add_plain(scores.back(), offset[g]);
        }
      }
      const Values made = power(scores, power_masks_.terms[first + i].weight);
      for (int g = 0; g < coarse_; ++g) powers[g].push_back(made[g]);
    }
  }
  return powers;
}

// sum_g rot_{-S g F}(x_g), by Horner's rule: one rotation key.
Value LongAttention::sum_of_steps(Builder& builder, const Values& by_step) const {
  Value sum = by_step.back();
  for (size_t g = by_step.size() - 1; g-- > 0;)
    sum = builder.add(builder.rotate(sum, -step_ * features_), by_step[g]);
  return sum;
}

Value LongAttention::row_sums(Builder& builder, const std::vector<Values>& powers, double factor) const {
  Builder::Scope scope(builder, "denominator");
  Values by_step;
  for (const Values& of_step : powers) by_step.push_back(builder.linear(of_step, power_masks_)[0]);
  const std::vector<double> weight(static_cast<size_t>(features_), factor);
  return builder.linear(Values{sum_of_steps(builder, by_step)}, nn::block_sum_map(weight, lanes_))[0];
}

LongAttention::Values LongAttention::weigh(Builder& builder, const std::vector<Values>& powers,
                                           const Values& v) const {
  Builder::Scope scope(builder, "values");
  Values sums;
  for (const Value& part : v) {
    std::vector<Values> values, by_feature(static_cast<size_t>(lanes_));
    for (const Value feature : spread(builder, part, values_))
      values.push_back(builder.linear(Values{feature}, value_masks_));
    for (const Values& of_step : powers)
      for (int f = 0; f < lanes_; ++f) {
        std::vector<std::pair<Value, Value>> pairs;
        for (int m = 0; m < fine_; ++m) pairs.emplace_back(of_step[m], values[f][m]);
        by_feature[f].push_back(builder.sum_of_products(pairs));
      }
    for (int f = 0; f < lanes_; ++f) {
      // The sum of the lanes is in the first one.
      sums.push_back(
          builder.rotate(builder.sum_of_rotations(sum_of_steps(builder, by_feature[f]), 1, lanes_), -f));
    }
  }
  return sums;
}

LongAttention::Values LongAttention::divide(Builder& builder, const Values& sums, Value inverse) const {
  Values lanes, heads;
  for (int f = 0; f < lanes_; ++f) lanes.push_back(builder.multiply_plain(inverse, one_lane(f)));
  for (size_t first = 0; first < sums.size(); first += lanes.size()) {
    std::vector<std::pair<Value, Value>> pairs;
    for (size_t f = 0; f < lanes.size(); ++f) pairs.emplace_back(sums[first + f], lanes[f]);
    heads.push_back(builder.sum_of_products(pairs));
  }
  return heads;
}

}  // namespace psm::attention
