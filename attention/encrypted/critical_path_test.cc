#include "attention/encrypted/critical_path.h"

#include <algorithm>

#include "approx/activation.h"
#include "approx/inverse.h"
#include "attention/encrypted/encrypted_model.h"
#include "doctest/doctest.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::attention {
namespace {

TEST_CASE("the levels of a layer are those of the block's description") {
  const ModelConfig config{.vocab = 13,
                           .context = 16,
                           .layers = 2,
                           .width = 16,
                           .heads = 2,
                           .ffn = 32,
                           .rotary_fraction = 0.5,
                           .power = 4};
  const Packing packing = make_packing(config, 16, 512);
  const ShapeRanges ranges{.variance = {0.1, 10}, .denominator = {1e-3, 1}, .gelu_input = 6};
  for (const bool client_norm : {true, false}) {
    CAPTURE(client_norm);
    PolynomialOptions options;
    options.client_norm = client_norm;
    const approx::Approximation inverse_sqrt =
        approx::design_inverse_sqrt(ranges.variance, options.norm_error);
    const int norm = inverse_sqrt.depth(), product = nn::products_depth(inverse_sqrt) - norm;
    const int inverse = approx::design_inverse(ranges.denominator, options.inverse_error).depth();
    const int gelu =
        approx::design_activation(approx::Activation::kGelu, ranges.gelu_input, options.gelu_error).depth();
    const std::vector<LayerPath> paths =
        critical_paths(build_program(shape_model(config, ranges, options), packing));
    REQUIRE(paths.size() == 2);
    for (size_t n = 0; n < 2; ++n) {
      CAPTURE(n);
      const bool has_norm = n > 0 || !client_norm;
      // The matrices run parallel to the norm, not after it.
      const int matrix_or_norm = has_norm ? 2 + norm + product : 1;
      const PathLevels &attention = paths[n].attention, &feed_forward = paths[n].feed_forward;
      // scores 2, x^4 2, row sums 1, 1/x, division 1, output 1
      CHECK(attention.total == matrix_or_norm + 2 + 2 + 1 + inverse + 1 + 1);
      CHECK(attention.inverse == inverse);
      CHECK(attention.inverse_sqrt == (has_norm ? norm : 0));
      CHECK(attention.gelu == 0);
      CHECK(attention.besides() == (has_norm ? 9 + product : 8));
      CHECK(feed_forward.total == matrix_or_norm + gelu + 1);
      CHECK(feed_forward.gelu == gelu);
      CHECK(feed_forward.inverse == 0);
      CHECK(paths[n].critical().total == std::max(attention.total, feed_forward.total));
    }
  }
}

TEST_CASE("instructions outside of layers and parts that a layer lacks count nothing") {
  program::Builder builder(8);
  program::Value x = builder.input("x");
  x = builder.square(x);
  {
    const program::Builder::Scope layer(builder, "layer 1");
    const program::Builder::Scope part(builder, "feed-forward");
    x = builder.square(builder.square(x));
  }
  builder.output("x", builder.square(x));
  const std::vector<LayerPath> paths = critical_paths(std::move(builder).finish());
  REQUIRE(paths.size() == 2);
  CHECK(paths[0].critical().total == 0);
  CHECK(paths[1].attention.total == 0);
  CHECK(paths[1].feed_forward.total == 2);
}

}  // namespace
}  // namespace psm::attention
