#include "attention/ends/client_model.h"

#include <cmath>

#include "attention/ends/packing.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

ClientModel client_of(const ClientShape& shape, const Places& places) {
  ClientModel model;
  model.shape = shape, model.packing = places;
  TrainingRandom random(1);
  for (int f = 0; f < shape.width; ++f) model.residual_scale.push_back(random.uniform(1, 2));
  ClientModel::for_each_list(model, [&](const char*, std::vector<float>& values, size_t wanted, ModelEnd) {
    for (size_t i = 0; i < wanted; ++i) values.push_back(static_cast<float>(random.uniform(-1, 1)));
  });
  return model;
}

ClientModel neox() {
  const ModelConfig config{.vocab = 5, .context = 4, .layers = 1, .width = 8, .heads = 2, .ffn = 16};
  return client_of({.vocab = 5, .context = 4, .width = 8, .norm_epsilon = 1e-5, .power = 4},
                   make_packing(config, 4, 64));
}

ClientModel roberta() {
  ModelConfig config = preset("roberta");
  config.vocab = 7, config.context = 4, config.layers = 1, config.width = 8, config.heads = 2;
  config.ffn = 6, config.classes = 3;
  return client_of({.vocab = 7,
                    .context = 4,
                    .width = 8,
                    .classes = 3,
                    .norm_epsilon = 1e-5,
                    .learned_positions = true,
                    .final_norm = false,
                    .sends_state = false,
                    .power = 4},
                   make_packing(config, 4, 64));
}

TEST_CASE("of a model without layers the answer is the norm and the unembedding of what was sent") {
  const ClientModel model = neox();
  const std::vector<std::vector<int>> prompts = {{1, 4, 0}, {2}};
  const SlotVectors inputs = client_inputs(model, prompts);
  REQUIRE(inputs.size() == 2);
  const auto logits = client_logits(model, {{"y", inputs.at("x")}}, prompts);
  REQUIRE(logits.size() == prompts.size());
  for (size_t p = 0; p < prompts.size(); ++p) {
    REQUIRE(logits[p].size() == prompts[p].size() * 5);
    for (size_t t = 0; t < prompts[p].size(); ++t) {
      const float* row = model.embedding.data() + prompts[p][t] * 8;
      double mean = 0, variance = 0;
      for (int f = 0; f < 8; ++f) mean += static_cast<double>(row[f]) / 8;
      for (int f = 0; f < 8; ++f) variance += std::pow(static_cast<double>(row[f]) - mean, 2) / 8;
      for (int token = 0; token < 5; ++token) {
        double logit = 0;
        for (int f = 0; f < 8; ++f) {
          const double n = (static_cast<double>(row[f]) - mean) / std::sqrt(variance + 1e-5);
          logit += static_cast<double>(model.unembedding[token * 8 + f]) *
                   (n * static_cast<double>(model.final_gamma[f]) + static_cast<double>(model.final_beta[f]));
        }
        CHECK(logits[p][t * 5 + token] == doctest::Approx(logit));
      }
    }
  }
}

TEST_CASE("a classifier of texts is sent its norm and the mask of its lengths") {
  const ClientModel model = roberta();
  const std::vector<std::vector<int>> prompts = {{1, 4, 6}, {2}};
  const SlotVectors inputs = client_inputs(model, prompts);
  REQUIRE(inputs.size() == 2);
  const Places& packing = model.packing;
  for (int p = 0; p < 2; ++p)
    for (int t = 0; t < packing.tokens; ++t) {
      const int length = static_cast<int>(prompts[p].size());
      const auto slot = static_cast<size_t>(p * packing.prompt_stride() + t * packing.token_stride());
      CHECK(inputs.at("lengths")[slot].real() == (t < length ? row_scale(length - 1, 4) : 0.0));
    }
  const auto states =
      unpack_states(packing, 8, std::vector<std::vector<std::complex<double>>>{inputs.at("h")}, 1);
  double square = 0;
  for (int f = 0; f < 8; ++f) square += states[0][f] * states[0][f] / 8;
  CHECK(square == doctest::Approx(1).epsilon(1e-3));
}

TEST_CASE("token types are added up to the first separator and behind it") {
  ClientModel model = roberta();
  model.shape.separator = 2;
  for (int type = 0; type < 2; ++type)
    for (int f = 0; f < 8; ++f) model.type_embedding.push_back(static_cast<float>(f % (type + 2)));
  ClientModel shifted = model;  // the same, with each type's row in the positions that have it
  shifted.shape.separator = 0;
  for (size_t i = 0; i < shifted.position_embedding.size(); ++i)
    shifted.position_embedding[i] += model.type_embedding[(i < 16 ? 0 : 8) + i % 8];
  const std::vector<std::vector<int>> prompts = {{1, 2, 2, 6}};
  const auto distance = [&](const std::vector<std::vector<int>>& texts) {
    const SlotVectors a = client_inputs(model, texts), b = client_inputs(shifted, texts);
    double most = 0;
    for (size_t s = 0; s < a.at("h").size(); ++s) most = worse(most, std::abs(a.at("h")[s] - b.at("h")[s]));
    return most;
  };
  CHECK(distance(prompts) < 1e-5);
  CHECK(distance({{1, 6, 2}}) > 0.01);
}

TEST_CASE("answers that are not those of the prompts, or of the model, are refused") {
  const ClientModel model = neox();
  const std::vector<std::vector<int>> prompts = {{1, 2}};
  SlotVectors outputs = client_inputs(model, prompts);
  outputs["y"] = outputs.at("x");
  CHECK_REFUSED(client_logits(model, {}, prompts), "lacks the output 'y'");
  SlotVectors few = outputs;
  few["y"].pop_back();
  CHECK_REFUSED(client_logits(model, few, prompts), "63 slots of 64");
  const std::vector<std::vector<int>> longer = {{1, 2, 3, 4, 0}};
  CHECK_REFUSED(client_logits(model, outputs, longer), "an answer of 5 tokens");
  for (const ClientModel& one : {neox(), roberta()}) {
    const std::vector<std::vector<int>> many(static_cast<size_t>(one.packing.prompts) + 1, {1});
    SlotVectors any = {{"y", std::vector<std::complex<double>>(64)}};
    any["logits"] = any["y"];
    CHECK_REFUSED(client_logits(one, any, many), "prompts; the program takes");
    CHECK_THROWS_AS(client_inputs(one, many), Error);
  }
  CHECK_THROWS_AS(client_inputs(model, longer), Error);
  for (const std::vector<int>& wrong : {std::vector<int>{}, {5}, {1, -1}})
    CHECK_THROWS_AS(client_inputs(model, std::vector<std::vector<int>>{wrong}), Error);
}

}  // namespace
}  // namespace psm::attention
