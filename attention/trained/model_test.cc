// Loss and gradients of the model, in both precisions, compared with its loss in double precision and Richardson's
// extrapolation of central differences of that (error O(h^4)). That the loss is right is for transformers_facts_test.cc
// and for the slot programs (attention/encrypted) to show.
#include "attention/trained/model.h"

#include <algorithm>
#include <cmath>

#include "attention/reference/polynomial_model.h"
#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"
#include "nn/layers/cross_entropy.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"

namespace psm::attention {
namespace {

constexpr int kLength = 6, kSequences = 2;

// What a model is run on and scored by.
struct Examples {
  std::vector<int> tokens = {}, lengths = {}, targets = {};
  std::vector<float> patches = {};
  std::vector<int> rows = {};  // the scored ones; empty: all
  int scored() const {
    return static_cast<int>(std::count_if(targets.begin(), targets.end(), [](int t) { return t >= 0; }));
  }
};

const Examples kText{.tokens = {1, 2, 3, 4, 6, 5, 0, 1, 4, 4, 2, 3},
                     .targets = {2, 3, 4, 6, 5, -1, 1, 4, -1, 2, 3, 0}};  // ten are scored

ModelConfig small(AttentionKind kind, PowerForm form, int power = 4) {
  ModelConfig config{.vocab = 7, .context = kLength, .layers = 2, .width = 8, .heads = 2, .ffn = 12};
  config.rotary_fraction = 0.5, config.epsilon = 0.05;
  config.attention = kind, config.form = form, config.power = power;
  return config;
}

constexpr float kStep = 0x1p-13f;

// Larger than a training's initial weights, so that gradients are far from zero, and multiples of the step,
// so that steps are exact in float.
ModelWeights weights_of(const ModelConfig& config) {
  std::vector<float> values = flatten(random_weights(config, 3));
  TrainingRandom random(4);
  for (float& value : values)
    value = kStep * std::round((value + static_cast<float>(0.3 * random.normal())) / kStep);
  return unflatten(config, values);
}

ForwardResult reference_of(const ModelWeights& weights, const Examples& examples, int sequence) {
  if (weights.config.patch_inputs > 0) {
    const size_t size = examples.patches.size() / kSequences;
    return reference_forward(weights, std::span(examples.patches).subspan(sequence * size, size));
  }
  const int length = examples.lengths.empty() ? kLength : examples.lengths[sequence];
  return reference_forward(weights, std::span(examples.tokens).subspan(sequence * kLength, length));
}

double reference_loss(const ModelWeights& weights, const Examples& examples) {
  double total = 0;
  const int rows = static_cast<int>(examples.targets.size()) / kSequences;
  for (int s = 0; s < kSequences; ++s) {
    const ForwardResult result = reference_of(weights, examples, s);
    const int classes = weights.config.classes > 0 ? weights.config.classes : weights.config.vocab;
    for (int t = 0; t < rows; ++t) {
      const int target = examples.targets[s * rows + t];
      if (target < 0) continue;
      const double* z = result.logits.data() + t * classes;
      double sum = 0;
      for (int j = 0; j < classes; ++j) sum += std::exp(z[j] - z[target]);
      total += std::log(sum);
    }
  }
  return total / examples.scored();
}

std::vector<double> reference_gradient(const ModelWeights& weights, const Examples& examples) {
  std::vector<float> values = flatten(weights);
  std::vector<double> gradient;
  for (float& value : values) {
    const float at = value;
    const auto difference = [&](float h) {
      value = at + h;
      const double above = reference_loss(unflatten(weights.config, values), examples);
      value = at - h;
      const double below = reference_loss(unflatten(weights.config, values), examples);
      value = at;
      return (above - below) / (2 * h);
    };
    gradient.push_back((4 * difference(kStep) - difference(2 * kStep)) / 3);
  }
  return gradient;
}

template <typename Scalar>
void check(const ModelWeights& weights, const Examples& examples, double reference,
           const std::vector<double>& expected, double tolerance) {
  const std::vector<float> flat = flatten(weights);
  std::vector<Scalar> values(flat.begin(), flat.end()), grads(values.size());
  const Model<Scalar> model(weights.config, values.data(), grads.data());
  nn::Tape<Scalar> tape;
  ForwardTensors<Scalar> out;
  model.forward(tape,
                {.length = kLength,
                 .tokens = examples.tokens,
                 .lengths = examples.lengths,
                 .patches = examples.patches,
                 .rows = examples.rows},
                out);
  std::vector<int> targets = examples.targets;
  if (!examples.rows.empty()) std::erase(targets, -1);
  const nn::Tensor<Scalar> loss =
      nn::cross_entropy(tape, out.logits, std::span<const int>(targets), 1.0 / examples.scored());
  tape.backward(loss);
  CHECK(std::abs(loss.value[0] - reference) < tolerance * reference);

  double whole = 0;
  for (const double g : expected) whole += g * g;
  for (const ParameterSlice& slice : parameter_slices(weights.config)) {
    double error = 0, norm = 0;
    for (size_t i = slice.begin; i < slice.begin + slice.size(); ++i) {
      error += (grads[i] - expected[i]) * (grads[i] - expected[i]);
      norm += expected[i] * expected[i];
    }
    CAPTURE(slice.name);
    // Some gradients vanish (softmax does not see a part of b_k): a hundredth of the whole is the floor.
    CHECK(std::sqrt(error) < tolerance * std::max(std::sqrt(norm), 0.01 * std::sqrt(whole)));
  }
}

void check_both_precisions(const ModelConfig& config, const Examples& examples = kText) {
  CAPTURE(static_cast<int>(config.block));
  CAPTURE(name_of(config.attention));
  CAPTURE(name_of(config.form));
  CAPTURE(config.power);
  const ModelWeights weights = weights_of(config);
  const double loss = reference_loss(weights, examples);
  const std::vector<double> gradient = reference_gradient(weights, examples);
  check<double>(weights, examples, loss, gradient, 1e-7);
  check<float>(weights, examples, loss, gradient, 1e-5);
}

TEST_CASE("the gradients of a whole model are the differences of its loss, with every kind of attention") {
  check_both_precisions(small(AttentionKind::kSoftmax, PowerForm::kStable));
  check_both_precisions(small(AttentionKind::kScaledRelu, PowerForm::kStable));
  for (const PowerForm form :
       {PowerForm::kPlain, PowerForm::kLipschitz, PowerForm::kStable, PowerForm::kLengthAgnostic})
    for (const int power : {2, 4, 6})
      for (const bool offset : {false, true}) {
        if (offset && power == 2) continue;
        CAPTURE(offset);
        ModelConfig config = small(AttentionKind::kPowerSoftmax, form, power);
        config.score_offset = offset;
        check_both_precisions(config);
      }
}

ModelConfig family(std::string_view name) {
  ModelConfig config = preset(name);
  config.vocab = 7, config.context = kLength, config.layers = 2, config.width = 8, config.heads = 4,
  config.ffn = 12;
  config.epsilon = 0.05;
  return config;
}

TEST_CASE("the gradients of a whole model are the differences of its loss, in every family") {
  ModelConfig llama = family("llama"), roberta = family("roberta"), bert = family("bert"),
              vit = family("vit");
  llama.kv_heads = 2, llama.heads = 4, llama.width = 16;
  check_both_precisions(llama);

  Examples filled_up = kText;
  filled_up.lengths = {6, 4}, filled_up.targets = {2, 0};
  roberta.classes = 3, roberta.feed_forward = FeedForwardKind::kGeluErf;
  check_both_precisions(roberta, filled_up);
  bert.classes = 3, bert.separator = kText.tokens[2];  // two token types
  check_both_precisions(bert, filled_up);
  bert.pooler = false, bert.mean_pooling = true;
  check_both_precisions(bert, filled_up);

  vit.vocab = 0, vit.patch_inputs = 3, vit.classes = 3;
  Examples images{.targets = {1, 2}};
  for (int i = 0; i < kSequences * (kLength - 1) * 3; ++i)
    images.patches.push_back(static_cast<float>(std::sin(1.7 * i)));
  check_both_precisions(vit, images);

  ModelConfig masked = family("bert"), gpt2 = family("gpt2");
  masked.pooler = gpt2.pooler = false, masked.separator = kText.tokens[2];
  Examples scored_alone = kText;
  scored_alone.rows = {0, 1, 2, 3, 4, 6, 7, 9, 10, 11};
  for (const ModelConfig& config : {masked, gpt2}) check_both_precisions(config, scored_alone);
}

TEST_CASE(
    "between begin_gradients and end_gradients what lay there does not count, and what nothing adds to is "
    "zero") {
  ModelConfig config = small(AttentionKind::kPowerSoftmax, PowerForm::kStable);
  std::vector<float> values = flatten(random_weights(config, 5));
  const std::vector<int> tokens = {0, 2, 1, 1};
  const auto gradients = [&](float before, bool begun) {
    std::vector<float> grads(values.size(), before);
    Model<float> model(config, values.data(), grads.data());
    nn::Tape<float> tape;
    ForwardTensors<float> out;
    if (begun) model.begin_gradients();
    model.forward(tape, {.length = 4, .tokens = tokens}, out);
    // Logits are not reached, nor what is behind the first layer.
    const nn::Tensor<float> one = nn::first_rows(tape, out.residual[1], 4);
    std::vector<float> row(one.columns, 1.0f);
    std::vector<float> row_grads(one.columns);
    tape.backward(nn::linear<float>(tape, one, {row.data(), row_grads.data(), 1, one.columns}, {}));
    if (begun) model.end_gradients();
    return grads;
  };
  const std::vector<float> expected = gradients(0, false);
  CHECK(std::ranges::count(expected, 0.0f) > 100);
  CHECK(std::ranges::count_if(expected, [](float g) { return g != 0; }) > 10);
  CHECK(gradients(NAN, true) == expected);
  const std::vector<float> added = gradients(1, false);
  for (size_t i = 0; i < added.size(); ++i) CHECK(added[i] == doctest::Approx(1 + expected[i]));
}

}  // namespace
}  // namespace psm::attention
