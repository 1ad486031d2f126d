#include "cmd/compiler/shapes.h"

#include "attention/reference/polynomial_model.h"
#include "attention/reference/range_use.h"
#include "attention/trained/measure.h"
#include "ckks/base/memory.h"
#include "ckks/base/testing/check.h"
#include "cmd/compiler/compile.h"

namespace psm::cmd {
namespace {

attention::ModelConfig small() {
  attention::ModelConfig config;
  config.vocab = 64, config.context = 16, config.layers = 2, config.width = 32, config.heads = 2;
  config.ffn = 64;
  return config;
}

TEST_CASE("a random model's prompts stay within its intervals, which span what a trained model's do") {
  const RandomModel model = random_model(small(), 3, 2);
  REQUIRE(model.prompts.size() == 2);
  CHECK(model.prompts[0] != model.prompts[1]);
  const attention::Checkpoint& checkpoint = model.checkpoint;
  for (const attention::LayerRanges& layer : checkpoint.ranges->layers) {
    CHECK(layer.variance.hi / layer.variance.lo > 4);
    CHECK(layer.variance.hi / layer.variance.lo < 15);
    CHECK(layer.denominator.hi / layer.denominator.lo < 1000);
  }
  attention::ModelWeights weights = checkpoint.weights;
  for (int n = 0; n < 2; ++n) weights.layers[n] = checkpoint.read_layer(n);
  const attention::PolynomialModel polynomial =
      attention::make_polynomial(weights, *checkpoint.ranges, *checkpoint.polynomial);
  for (const attention::RangeUse& use : attention::count_range_leaves(polynomial, model.prompts)) {
    CAPTURE(use.function);
    CHECK(use.values > 0);
    // The client computes the first norm, which has no entry.
    CHECK((use.layer > 0 || use.function != "1/sqrt(variance)"));
    CHECK(use.outside == 0);
  }
}

TEST_CASE("a random model takes the memory of a layer or two, and not of all") {
  attention::ModelConfig config = small();
  config.layers = 16, config.width = 384, config.ffn = 4 * config.width;
  const size_t all = sizeof(float) * 12 * 384 * 384 * 16;
  const uint64_t before = current_resident_bytes();
  const RandomModel model = random_model(config, 3, 1);
  CHECK(peak_resident_bytes() - before < all / 2);
}

TEST_CASE("a disk that cannot hold a model's program is found before it is compiled") {
  attention::ModelConfig config = small();
  CHECK_NOTHROW(require_disk(config, "program"));
  CHECK_NOTHROW(require_disk(config, "absent/program"));
  config.layers = config.width = config.ffn = 1 << 16;
  CHECK_REFUSED(require_disk(config, "program"), "make room");
}

TEST_CASE("the seed decides weights, ranges and prompts") {
  const RandomModel a = random_model(small(), 3, 1), b = random_model(small(), 3, 1),
                    c = random_model(small(), 4, 1);
  CHECK(a.prompts == b.prompts);
  CHECK(a.checkpoint.weights.embedding == b.checkpoint.weights.embedding);
  CHECK(a.checkpoint.ranges->residual == b.checkpoint.ranges->residual);
  CHECK(a.prompts != c.prompts);
  CHECK(a.checkpoint.read_layer(0) == b.checkpoint.read_layer(0));
  CHECK(a.checkpoint.read_layer(0).wq != c.checkpoint.read_layer(0).wq);
}

}  // namespace
}  // namespace psm::cmd
