#include "attention/weights.h"

#include <limits>
#include <set>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

ModelConfig small() {
  ModelConfig config;
  config.vocab = 8, config.context = 4, config.layers = 2, config.width = 8, config.heads = 2,
  config.ffn = 16;
  return config;
}

TEST_CASE("random weights have the configuration's sizes, distinct names and validate") {
  const ModelWeights weights = random_weights(small(), 1);
  CHECK_NOTHROW(weights.validate());
  CHECK(weights.parameters() == 2 * 8 * 8 + 2 * 8 + 2 * (4 * 8 + 4 * (64 + 8) + 2 * 16 * 8 + 16 + 8));
  std::set<std::string> names;
  for_each_parameter(weights, [&](const std::string& name, const auto&, int, int) { names.insert(name); });
  CHECK(names.size() == 2 * 16 + 4);
  CHECK(weights.layers[1].wq == random_weights(small(), 1).layers[1].wq);
  CHECK(weights.layers[1].wq != random_weights(small(), 2).layers[1].wq);
}

TEST_CASE("weights of another size or with infinities are refused") {
  ModelWeights weights = random_weights(small(), 1);
  weights.layers[0].wo.pop_back();
  CHECK_THROWS_AS(weights.validate(), Error);
  weights = random_weights(small(), 1);
  weights.layers.pop_back();
  CHECK_THROWS_AS(weights.validate(), Error);
  weights = random_weights(small(), 1);
  weights.unembedding[3] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_AS(weights.validate(), Error);
}

}  // namespace
}  // namespace psm
