#include "attention/trained/attention_ops.h"

#include "ckks/base/random/training_random.h"
#include "nn/layers/activations.h"
#include "nn/testing/gradient_check.h"

namespace psm::attention {
namespace {

using Inputs = std::vector<nn::Tensor<double>>;

const AttentionShape kShape{2, 3};  // 2 sequences of 3 tokens

ModelConfig with(AttentionKind kind, PowerForm form, int heads = 2, int dims = 2) {
  ModelConfig config;
  config.heads = heads, config.width = heads * dims;
  config.attention = kind, config.form = form, config.epsilon = 0.2, config.stable_delta = 0.05;
  return config;
}

// Losses of which only one is on.
const ScoreLosses kEachLoss[] = {
    {.peak = 0.7}, {.excess = 0.3, .limit = 0.6}, {.denominator_excess = 0.4, .denominator_limit = 0.5}};

TEST_CASE("the gradient of every loss of scores agrees with finite differences") {
  for (int power : {2, 4, 6}) {
    ModelConfig config = with(AttentionKind::kPowerSoftmax, PowerForm::kLengthAgnostic);
    config.power = power;
    for (const ScoreLosses& losses : kEachLoss)
      nn::check_gradient(
          {{6, 4}, {6, 4}, {6, 4}, {1, 2}},
          [&](nn::Tape<double>& tape, const Inputs& in) {
            const auto [o, scores, loss] =
                attention(tape, kShape, config, in[0], in[1], in[2], in[3], {.losses = &losses});
            return nn::add_scaled(tape, nn::excess_loss(tape, o, nullptr, 0.1, 1.0), loss, 0.9);
          },
          1e-5);
  }
}

TEST_CASE(
    "the gradients of grouped, bidirectional and padded attention and of its losses agree with finite "
    "differences") {
  const int lengths[] = {3, 2};
  for (const bool causal : {true, false})
    for (const bool padded : {false, true}) {
      const AttentionShape shape{2, 3, padded ? lengths : nullptr};
      ModelConfig config = with(AttentionKind::kPowerSoftmax, PowerForm::kLengthAgnostic, 4);
      config.kv_heads = 2, config.causal = causal;
      const std::vector<nn::Shape> inputs{{6, 8}, {6, 4}, {6, 4}};
      nn::check_gradient(
          inputs,
          [&](nn::Tape<double>& tape, const Inputs& in) {
            return attention(tape, shape, config, in[0], in[1], in[2], {}).o;
          },
          1e-5);
      for (const ScoreLosses& losses : kEachLoss)
        nn::check_gradient(
            inputs,
            [&](nn::Tape<double>& tape, const Inputs& in) {
              return attention(tape, shape, config, in[0], in[1], in[2], {}, {.losses = &losses}).loss;
            },
            1e-5);
    }
}

// Length 150: several blocks of queries, the last one not whole.
const AttentionShape kLong{2, 150};

std::vector<float> random_values(size_t count, uint64_t seed) {
  TrainingRandom random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

TEST_CASE("scores that are kept and losses of weight zero do not change a bit, forward or backward") {
  const size_t size = size_t{2} * 150 * 8;
  const ScoreLosses losses{
      .peak = 1, .excess = 1, .denominator_excess = 1, .limit = 0.5, .denominator_limit = 0.5};
  for (AttentionKind kind : {AttentionKind::kSoftmax, AttentionKind::kPowerSoftmax}) {
    std::vector<std::vector<float>> results;
    for (const AttentionOptions& options :
         {AttentionOptions{}, AttentionOptions{.keep_scores = true}, AttentionOptions{.losses = &losses}}) {
      std::vector<float> values = random_values(3 * size, 5), grads(3 * size, 0.0f);
      nn::Tensor<float> in[3];
      for (size_t i = 0; i < 3; ++i) in[i] = {values.data() + i * size, grads.data() + i * size, 300, 8};
      std::vector<float> offset_values = {0.7f, -1.3f}, offset_grads(2, 0.0f);
      const nn::Tensor<float> offsets{offset_values.data(), offset_grads.data(), 1, 2};
      nn::Tape<float> tape;
      const auto [o, scores, loss] =
          attention(tape, kLong, with(kind, PowerForm::kStable, 2, 4), in[0], in[1], in[2], offsets, options);
      nn::Tensor<float> total = nn::excess_loss(tape, o, nullptr, 0.1, 1.0);
      if (options.losses) total = nn::add_scaled(tape, total, loss, 0.0);
      tape.backward(total);
      results.push_back(grads);
      results.back().insert(results.back().end(), o.value, o.value + o.size());
      results.back().insert(results.back().end(), offset_grads.begin(), offset_grads.end());
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
    CHECK(results[0][size - 1] != 0);
  }
}

TEST_CASE("losses of scores are those of their definition, over what the mask and the padding leave") {
  const int lengths[] = {150, 70};
  for (const bool causal : {true, false}) {
    const AttentionShape shape{2, 150, lengths};
    ModelConfig config = with(AttentionKind::kPowerSoftmax, PowerForm::kLengthAgnostic, 2, 4);
    config.causal = causal;
    const ScoreLosses losses{
        .peak = 0.3, .excess = 0.02, .denominator_excess = 0.5, .limit = 1.5, .denominator_limit = 0.9};
    const size_t size = size_t{2} * 150 * 8;
    std::vector<float> q = random_values(size, 1), k = random_values(size, 2), grad(size);
    const nn::Tensor<float> queries{q.data(), grad.data(), 300, 8}, keys{k.data(), grad.data(), 300, 8};
    nn::Tape<float> tape;
    const auto [o, scores, loss] =
        attention(tape, shape, config, queries, keys, keys, {}, {.keep_scores = true, .losses = &losses});
    double expected = 0;
    for (int b = 0; b < 2; ++b) {
      double peak = 0;
      for (int h = 0; h < 2; ++h)
        for (int t = 0; t < 150; ++t) {
          const float* const row = scores.row((b * 2 + h) * 150 + t);
          const int active = t >= lengths[b] ? 0 : causal ? t + 1 : lengths[b];
          double sum = 0;
          for (int j = 0; j < 150; ++j) {
            if (j >= active) CHECK(row[j] == 0);
            const double s = std::abs(static_cast<double>(row[j]));
            peak = std::max(peak, s);
            expected += losses.excess * std::pow(std::max(s - losses.limit, 0.0), 2);
            sum += std::pow(s, config.power);
          }
          if (active == 0) continue;
          const double excess = std::log((sum / active + config.epsilon) / losses.denominator_limit);
          expected += losses.denominator_excess * std::pow(std::max(excess, 0.0), 2);
        }
      expected += losses.peak * peak;
    }
    CHECK(expected > 1);
    CHECK(loss.value[0] == doctest::Approx(expected).epsilon(1e-5));
  }
}

TEST_CASE(
    "a padded sequence gives what it gives alone, and zeros behind it; another head of its group other "
    "values") {
  const size_t size = size_t{150} * 8;
  std::vector<float> q = random_values(2 * size, 1), k = random_values(size, 2), v = random_values(size, 3),
                     grad(2 * size);
  ModelConfig config = with(AttentionKind::kPowerSoftmax, PowerForm::kLengthAgnostic, 4, 4);
  config.kv_heads = 2, config.causal = false;
  const auto output = [&](int length, const int* lengths) {
    nn::Tape<float> tape;
    const nn::Tensor<float> o =
        attention<float>(tape, {1, length, lengths}, config, {q.data(), grad.data(), length, 16},
                         {k.data(), grad.data(), length, 8}, {v.data(), grad.data(), length, 8}, {})
            .o;
    return std::vector<float>(o.value, o.value + o.size());
  };
  const int real = 90;
  const std::vector<float> padded = output(150, &real), alone = output(real, nullptr),
                           whole = output(150, nullptr);
  CHECK(std::equal(alone.begin(), alone.end(), padded.begin()));
  CHECK(std::all_of(padded.begin() + real * 16, padded.end(), [](float x) { return x == 0; }));
  CHECK(whole[0] != padded[0]);
  // Heads 0 and 1 share keys: with equal queries they give the same, heads 1 and 2 do not.
  for (size_t t = 0; t < 150; ++t)
    for (size_t f = 0; f < 4; ++f) q[t * 16 + 4 + f] = q[t * 16 + 8 + f] = q[t * 16 + f];
  const std::vector<float> equal = output(150, nullptr);
  for (size_t f = 0; f < 4; ++f) {
    CHECK(equal[f] == equal[4 + f]);
    CHECK(equal[f] != equal[8 + f]);
  }
}

}  // namespace
}  // namespace psm::attention
