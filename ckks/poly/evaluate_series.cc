#include "ckks/poly/evaluate_series.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/backend.h"

namespace psm {
namespace {

using Nodes = std::vector<std::optional<Ciphertext>>;

int64_t rounded(long double value) {
  PSM_CHECK(std::abs(value) < 0x1p62L, "coefficient ", static_cast<double>(value), " exceeds 62 bits");
  return std::llround(value);
}

// A stretch of a limb that stays in the first-level cache with what is summed there.
struct Tile {
  int limb;
  size_t begin, size;

  uint64_t* of(RnsPoly& a) const { return a.limb(limb) + begin; }
  const uint64_t* of(const RnsPoly& a) const { return a.limb(limb) + begin; }
};

// One tile of sum_products a b, three components.
void sum_products(const SeriesPlan::Node& node, const Nodes& values, ProductCiphertext& sum,
                  const Tile& tile) {
  const Kernels& k = kernels();
  const Modulus& q = sum.c[0].modulus(tile.limb);
  std::vector<const uint64_t*> l0, l1, r0, r1, left, right;
  for (const auto& product : node.products) {
    const Ciphertext &a = *values[product.left], &b = *values[product.right];
    l0.push_back(tile.of(a.c[0]));
    l1.push_back(tile.of(a.c[1]));
    r0.push_back(tile.of(b.c[0]));
    r1.push_back(tile.of(b.c[1]));
  }
  left = l0;
  left.insert(left.end(), l1.begin(), l1.end());
  right = r1;
  right.insert(right.end(), r0.begin(), r0.end());
  k.inner_product(tile.of(sum.c[0]), l0.data(), r0.data(), l0.size(), tile.size, q);
  k.inner_product(tile.of(sum.c[1]), left.data(), right.data(), left.size(), tile.size, q);
  k.inner_product(tile.of(sum.c[2]), l1.data(), r1.data(), l1.size(), tile.size, q);
  if (node.products.front().doubled) {
    for (RnsPoly& c : sum.c) k.add(tile.of(c), tile.of(c), tile.of(c), tile.size, q);
  }
}

// One tile of sum_terms c a, added to what the two polynomials hold, or written if `fresh`.
void sum_terms(const SeriesPlan::Node& node, const std::vector<Multiplier>& coefficients, const Nodes& values,
               RnsPoly* c, const Tile& tile, bool fresh) {
  const Kernels& k = kernels();
  const Modulus& q = c[0].modulus(tile.limb);
  for (int half = 0; half < 2; ++half) {
    for (size_t t = 0; t < node.terms.size(); ++t) {
      const RnsPoly& a = values[node.terms[t].node]->c[half];
      (fresh && t == 0 ? k.scale : k.scale_add)(tile.of(c[half]), tile.of(a), coefficients[t], tile.size, q);
    }
  }
}

Ciphertext evaluate_node(const Evaluator& evaluator, const SeriesPlan& plan, size_t index,
                         const Nodes& values) {
  const SeriesPlan::Node& node = plan.nodes[index];
  const Ring& ring = evaluator.context().ring();
  const Basis basis{node.level + 2, 0};
  std::vector<int64_t> integers;
  for (const auto& term : node.terms) {
    integers.push_back(
        rounded(static_cast<long double>(term.coefficient) * node.sum_scale / plan.nodes[term.node].scale));
  }
  // Every tile of every limb, `sum` being what it is added up in.
  const auto for_each_tile = [&](const RnsPoly& sum, const auto& body) {
    const size_t size = std::min<size_t>(sum.n(), 512);
    parallel_for(0, basis.q, [&](size_t index) {
      const int limb = static_cast<int>(index);
      const Modulus& q = sum.modulus(limb);
      std::vector<Multiplier> coefficients;
      for (int64_t integer : integers) coefficients.push_back(make_multiplier(reduce_signed(integer, q), q));
      for (size_t begin = 0; begin < sum.n(); begin += size) body(Tile{limb, begin, size}, coefficients);
    });
  };
  Ciphertext out;
  if (node.products.empty()) {
    out.c[0] = RnsPoly(ring, basis, Form::kNtt);
    out.c[1] = RnsPoly(ring, basis, Form::kNtt);
    for_each_tile(out.c[0], [&](const Tile& tile, const std::vector<Multiplier>& coefficients) {
      sum_terms(node, coefficients, values, out.c, tile, true);
    });
    out.scale = node.sum_scale;
    out.fingerprint = values[0]->fingerprint;
    evaluator.rescale_inplace(out);
  } else {
    for (const auto& product : node.products) PSM_CHECK(product.doubled == node.products.front().doubled);
    ProductCiphertext sum;
    for (RnsPoly& c : sum.c) c = RnsPoly(ring, basis, Form::kNtt);
    for_each_tile(sum.c[0], [&](const Tile& tile, const std::vector<Multiplier>& coefficients) {
      sum_products(node, values, sum, tile);
      sum_terms(node, coefficients, values, sum.c, tile, false);
    });
    sum.scale = node.sum_scale;
    sum.fingerprint = values[0]->fingerprint;
    out = evaluator.relinearise_rescale(sum);
  }
  out.scale = node.scale;
  if (node.constant != 0) evaluator.add_scalar_inplace(out, node.constant);
  return out;
}

}  // namespace

Ciphertext evaluate_series(const Evaluator& evaluator, const SeriesPlan& plan, const Ciphertext& x) {
  PSM_CHECK(x.level() == plan.nodes[0].level && x.scale == plan.nodes[0].scale, "argument at level ",
            x.level(), " and scale ", x.scale, ", planned for level ", plan.nodes[0].level, " and scale ",
            plan.nodes[0].scale);
  std::vector<size_t> last_use(plan.nodes.size(), 0);
  for (size_t i = 1; i < plan.nodes.size(); ++i) {
    for (const auto& product : plan.nodes[i].products) last_use[product.left] = last_use[product.right] = i;
    for (const auto& term : plan.nodes[i].terms) last_use[term.node] = i;
  }
  Nodes values(plan.nodes.size());
  values[0] = x.clone();
  for (size_t i = 1; i < plan.nodes.size(); ++i) {
    values[i] = evaluate_node(evaluator, plan, i, values);
    for (size_t k = 1; k < i; ++k) {
      if (last_use[k] == i) values[k].reset();
    }
  }
  return std::move(*values.back());
}

void request_keys(const SeriesPlan& plan, KeyRequest& request) {
  for (const SeriesPlan::Node& node : plan.nodes) {
    if (!node.products.empty()) request.need_relinearisation(node.level + 1);
  }
}

}  // namespace psm
