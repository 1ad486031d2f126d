#include "attention/encrypted/encrypted_attention.h"

#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::attention {

using program::Builder;
using program::Value;

namespace {

size_t wrap(long index, size_t period) {
  const long n = static_cast<long>(period);
  return static_cast<size_t>((index % n + n) % n);
}

}  // namespace

AttentionMasks::AttentionMasks(const Packing& packing, std::vector<double> theta, std::vector<double> scale)
    : causal_(packing.causal),
      tokens_(packing.tokens),
      features_(packing.features),
      stride_(packing.token_stride()),
      length_(packing.length > 0 ? packing.length : packing.tokens),
      head_features_(packing.head_features),
      score_ciphertexts_(packing.score_ciphertexts()),
      // Long sums of hoisted rotations want few babies, short ones few relinearisations.
      babies_(head_features_ > 16 ? head_features_ / 2 : head_features_),
      theta_(std::move(theta)),
      scale_(std::move(scale)) {
  PSM_CHECK(static_cast<int>(theta_.size()) == head_features_ && static_cast<int>(scale_.size()) == tokens_,
            theta_.size(), " angles, ", scale_.size(), " scales");
  const int C = head_features_, F = stride_, B = babies_;
  // K~_m = rot_{-mCF} sum_f mask . rot_{-fF}(conj k); V~ likewise with m = 0.
  skew_keys_.outputs = score_ciphertexts_;
  for (int f = 0; f < C; ++f) {
    for (int m = 0; m < score_ciphertexts_; ++m)
      skew_keys_.terms.push_back(
          {.output = m, .giant = -m * C * F, .baby = -f * F, .weight = key_mask(m, f, -m * C * F)});
    std::vector<ckks::Complex> one(static_cast<size_t>(features_));
    for (int at = f; at < features_; at += C) one[at] = 1;
    skew_values_.terms.push_back({.baby = -f * F, .weight = ckks::Plain(std::move(one))});
  }
  // Inputs are q and V~ rotated by the giants, one for each g; outputs (g, b) in this order.
  mask_queries_.outputs = mask_values_.outputs = 0;
  for (int b = 0; b < B; ++b) query_steps_.babies.push_back(b * (1 + F)), value_steps_.babies.push_back(b);
  for (int g = 0; g < giants(); ++g) {
    const int query_giant = (g - C / B) * B, value_giant = query_giant + B;
    query_steps_.giants.push_back(query_giant), query_steps_.inputs.push_back(-query_giant * F);
    value_steps_.giants.push_back(value_giant), value_steps_.inputs.push_back(value_giant * (1 + F));
    for (int b = 0; b < B; ++b) {
      const int query = query_giant + b, value = value_giant - b;
      if (std::abs(query) < C)
        mask_queries_.terms.push_back({.output = mask_queries_.outputs++,
                                       .input = g,
                                       .baby = b,
                                       .weight = query_mask(query, (query - b) * (1 + F))});
      if (std::abs(value) < C)
        mask_values_.terms.push_back({.output = mask_values_.outputs++,
                                      .input = g,
                                      .baby = -b * F,
                                      .weight = value_mask(value, -(value + b))});
    }
  }
}

// entry(t, j) for feature j of every head of token t, before the outer rotation by `giant_offset`. A mask that
// is the same for all tokens has the features' period.
template <typename Entry>
ckks::Plain AttentionMasks::mask(bool by_token, int giant_offset, const Entry& entry) const {
  const int tokens = by_token ? tokens_ : 1, features = by_token ? stride_ : features_;
  const size_t period = static_cast<size_t>(tokens) * static_cast<size_t>(features);
  std::vector<ckks::Complex> mask(period);
  for (int t = 0; t < tokens; ++t)
    for (int f = 0; f < features; ++f)
      mask[wrap(static_cast<long>(t) * features + f + giant_offset, period)] = entry(t, f % head_features_);
  return ckks::Plain(std::move(mask));
}

// use(first, count) of the ciphertexts of heads that gather in one.
template <typename Use>
void AttentionMasks::for_gathered(size_t ciphertexts, const Use& use) const {
  const size_t most = static_cast<size_t>(head_features_);
  for (size_t first = 0; first < ciphertexts; first += most)
    use(first, static_cast<int>(std::min(most, ciphertexts - first)));
}

ckks::Plain AttentionMasks::query_mask(int i, int giant_offset) const {
  return mask(causal_, giant_offset, [&](int t, int j) -> ckks::Complex {
    const int source = j + i;
    if (source < 0 || source >= head_features_ || (causal_ ? t : tokens_ - 1) < j) return 0;
    return std::polar(scale_[t] / 2, -theta_[source] * i);
  });
}

ckks::Plain AttentionMasks::value_mask(int i, int giant_offset) const {
  return mask(false, giant_offset,
              [&](int, int f) { return f - i >= 0 && f - i < head_features_ ? 1.0 : 0.0; });
}

ckks::Plain AttentionMasks::key_mask(int m, int feature, int giant_offset) const {
  const int step = m * head_features_;
  const auto token_before = [&](int t, int distance) {
    return static_cast<int>(wrap(t - distance, static_cast<size_t>(tokens_)));
  };
  return mask(causal_ ? step > 0 : length_ < tokens_, giant_offset, [&](int t, int f) -> ckks::Complex {
    if (f != feature) return 0;
    const bool counts =
        causal_ ? token_before(t, feature) >= step : token_before(t, step + feature) < length_;
    return counts ? std::polar(1.0, theta_[feature] * (step + feature)) : 0;
  });
}

std::vector<Value> AttentionMasks::scores(Builder& builder, Value q, Shared& shared) const {
  if (shared.keys.empty()) {
    shared.keys = builder.linear(std::vector<Value>{builder.conjugate(shared.k)}, skew_keys_);
    shared.rotated_keys.resize(shared.keys.size());
  }
  const std::vector<Value> queries =
      builder.linear(builder.rotate_all(q, query_steps_.inputs), mask_queries_);
  std::vector<Value> scores;
  for (size_t first = 0; first < shared.keys.size(); first += together()) {
    const size_t count = std::min(together(), shared.keys.size() - first);
    for (size_t m = first; m < first + count; ++m)
      if (shared.rotated_keys[m].empty())
        shared.rotated_keys[m] = builder.rotate_all(shared.keys[m], query_steps_.babies);
    const auto rotated = std::span<const std::vector<Value>>(shared.rotated_keys).subspan(first, count);
    // The masks carry half the scale, so twice the real part is the score.
    for (const Value sum : giant_sums(builder, rotated, queries, query_steps_.giants, 1, 1 + stride_))
      scores.push_back(builder.twice_real_part(sum));
  }
  return scores;
}

// sum_g rot_{g B step}( sum_b rotated[b] * masked[g, b] ) of each of these, over |g B + sign b| < C. All sums over b
// follow one another, so that a machine makes them together.
std::vector<Value> AttentionMasks::giant_sums(Builder& builder, std::span<const std::vector<Value>> rotated,
                                              const std::vector<Value>& masked,
                                              const std::vector<int>& giant_offsets, int sign,
                                              int step) const {
  std::vector<Value> sums, totals;
  for (const std::vector<Value>& of : rotated) {
    size_t next = 0;
    for (const int offset : giant_offsets) {
      std::vector<std::pair<Value, Value>> pairs;
      for (int b = 0; b < babies_; ++b)
        if (std::abs(offset + sign * b) < head_features_) pairs.emplace_back(of[b], masked[next++]);
      sums.push_back(builder.sum_of_products(pairs));
    }
  }
  for (size_t first = 0; first < sums.size(); first += giant_offsets.size()) {
    const std::span<Value> of = std::span(sums).subspan(first, giant_offsets.size());
    for (size_t g = 0; g < of.size(); ++g) of[g] = builder.rotate(of[g], giant_offsets[g] * step);
    totals.push_back(builder.add_all(of));
  }
  return totals;
}

ckks::Plain AttentionMasks::score_offsets(int m, const std::vector<double>& c) const {
  PSM_CHECK(static_cast<int>(c.size()) == features_ / head_features_, c.size(), " offsets");
  std::vector<ckks::Complex> offsets(static_cast<size_t>(tokens_) * static_cast<size_t>(stride_));
  for (int t = 0; t < tokens_; ++t)
    for (int f = 0; f < stride_; ++f) {
      const int j = f % head_features_, token = t - m * head_features_ - j;
      const bool counts =
          causal_ ? token >= 0
                  : j < tokens_ && static_cast<int>(wrap(token, static_cast<size_t>(tokens_))) < length_;
      if (counts)
        offsets[static_cast<size_t>(t) * stride_ + f] = scale_[t] * c[f % features_ / head_features_];
    }
  return ckks::Plain(std::move(offsets));
}

std::vector<Value> AttentionMasks::skewed_lengths(Builder& builder, Value lengths) const {
  return builder.linear(std::vector<Value>{lengths}, skew_keys_);
}

ckks::Plain AttentionMasks::offsets_of_heads(const std::vector<double>& c) const {
  std::vector<ckks::Complex> offsets(static_cast<size_t>(features_));
  for (int f = 0; f < features_; ++f)
    if (f % head_features_ < tokens_) offsets[f] = c[f / head_features_];
  return ckks::Plain(std::move(offsets));
}

Value AttentionMasks::weigh(Builder& builder, const std::vector<Value>& powers, Shared& shared) const {
  const int C = head_features_, F = stride_;
  std::vector<Value>& values = shared.masked_values;
  if (values.empty()) {
    const Value skewed = builder.linear(std::vector<Value>{shared.v}, skew_values_)[0];
    values = builder.linear(builder.rotate_all(skewed, value_steps_.inputs), mask_values_);
  }
  std::vector<Value> outputs;
  for (size_t first = 0; first < powers.size(); first += together()) {
    std::vector<std::vector<Value>> rotated;
    for (size_t m = first; m < std::min(first + together(), powers.size()); ++m)
      rotated.push_back(
          builder.rotate_all(builder.rotate(powers[m], static_cast<int>(m) * C * F), value_steps_.babies));
    const std::vector<Value> sums = giant_sums(builder, rotated, values, value_steps_.giants, -1, -1);
    outputs.insert(outputs.end(), sums.begin(), sums.end());
  }
  // Horner over m: one rotation key.
  Value sum = outputs.back();
  for (int m = score_ciphertexts_ - 2; m >= 0; --m)
    sum = builder.add(builder.rotate(sum, -C * F), outputs[m]);
  return sum;
}

std::vector<Value> AttentionMasks::row_sums(Builder& builder, const std::vector<Value>& sums,
                                            double factor) const {
  const std::vector<double> weight(static_cast<size_t>(features_), factor);
  std::vector<Value> gathered;
  for_gathered(sums.size(), [&](size_t first, int count) {
    const std::vector<Value> of(sums.begin() + first, sums.begin() + first + count);
    gathered.push_back(builder.linear(of, nn::block_sum_map(weight, head_features_, count))[0]);
  });
  return gathered;
}

std::vector<ckks::Plain> AttentionMasks::gathered(const std::vector<ckks::Plain>& of_ciphertexts) const {
  std::vector<ckks::Plain> gathered;
  for_gathered(of_ciphertexts.size(), [&](size_t first, int count) {
    const int share = nn::share_of_block(head_features_, count);
    std::vector<ckks::Complex> slots;
    for (int f = 0; f < features_; ++f)
      slots.push_back(of_ciphertexts[first + std::min(f % head_features_ / share, count - 1)].at(f));
    gathered.emplace_back(std::move(slots));
  });
  return gathered;
}

std::vector<Value> AttentionMasks::scattered(Builder& builder, const std::vector<Value>& gathered,
                                             size_t ciphertexts) const {
  if (ciphertexts == 1) return gathered;
  std::vector<Value> values;
  for_gathered(ciphertexts, [&](size_t first, int count) {
    const std::vector<Value> from{gathered[first / head_features_]};
    for (const Value of : builder.linear(from, nn::share_map(head_features_, count))) values.push_back(of);
  });
  return values;
}

std::vector<double> rotary_angles(const ModelConfig& config, const Packing& packing) {
  std::vector<double> theta(static_cast<size_t>(packing.head_features * packing.head_parts));
  const int dims = config.rotary_dims();
  for (int c = 0; 2 * c < dims; ++c) theta[c] = std::pow(config.rotary_base, -2.0 * c / dims);
  return theta;
}

}  // namespace psm::attention
