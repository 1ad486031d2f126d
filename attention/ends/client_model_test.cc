#include "attention/ends/client_model.h"

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
