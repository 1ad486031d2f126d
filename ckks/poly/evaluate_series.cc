#include "ckks/poly/evaluate_series.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

using Nodes = std::vector<std::optional<Ciphertext>>;

int64_t rounded(long double value) {
  PSM_CHECK(std::abs(value) < 0x1p62L, "coefficient ", static_cast<double>(value), " exceeds 62 bits");
  return std::llround(value);
}

// One limb of sum_products a b, three components.
void sum_products(const SeriesPlan::Node& node, const Nodes& values, ProductCiphertext& sum, int j) {
  const Kernels& k = kernels();
  const Modulus& q = sum.c[0].modulus(j);
  const size_t n = sum.c[0].n();
  std::vector<const uint64_t*> left0, left1, right0, right1;
  for (const auto& product : node.products) {
    const Ciphertext &a = *values[product.left], &b = *values[product.right];
    left0.push_back(a.c[0].limb(j));
    left1.push_back(a.c[1].limb(j));
    right0.push_back(b.c[0].limb(j));
    right1.push_back(b.c[1].limb(j));
  }
  k.tensor_product(sum.c[0].limb(j), sum.c[1].limb(j), sum.c[2].limb(j), left0.data(), left1.data(),
                   right0.data(), right1.data(), left0.size(), n, q);
  if (node.products.front().doubled) {
    for (RnsPoly& c : sum.c) k.add(c.limb(j), c.limb(j), c.limb(j), n, q);
  }
}

// One limb of sum_terms c a, added to what the two polynomials hold, or written if `fresh`.
void sum_terms(const SeriesPlan::Node& node, const std::vector<int64_t>& integers, const Nodes& values,
               RnsPoly* c, int j, bool fresh) {
  const Kernels& k = kernels();
  const Modulus& q = c[0].modulus(j);
  const size_t n = c[0].n();
  for (size_t t = 0; t < node.terms.size(); ++t) {
    const Ciphertext& a = *values[node.terms[t].node];
    const Multiplier multiplier = make_multiplier(reduce_signed(integers[t], q), q);
    for (int half = 0; half < 2; ++half) {
      (fresh && t == 0 ? k.scale : k.scale_add)(c[half].limb(j), a.c[half].limb(j), multiplier, n, q);
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
  Ciphertext out;
  if (node.products.empty()) {
    out = {ring, basis, node.sum_scale, values[0]->fingerprint};
    parallel_for(0, basis.q, [&](size_t j) {
      sum_terms(node, integers, values, out.c.data(), static_cast<int>(j), true);
    });
    evaluator.rescale_inplace(out);
  } else {
    for (const auto& product : node.products) PSM_CHECK(product.doubled == node.products.front().doubled);
    ProductCiphertext sum(ring, basis, node.sum_scale, values[0]->fingerprint);
    parallel_for(0, basis.q, [&](size_t j) {
      sum_products(node, values, sum, static_cast<int>(j));
      sum_terms(node, integers, values, sum.c.data(), static_cast<int>(j), false);
    });
    out = evaluator.relinearise_rescale(sum);
  }
  out.settle_scale(node.scale);
  if (node.constant != 0) evaluator.add_scalar_inplace(out, node.constant);
  return out;
}

}  // namespace

Ciphertext evaluate_series(const Evaluator& evaluator, const SeriesPlan& plan, const Ciphertext& x) {
  PSM_CHECK(x.level() == plan.nodes[0].level && x.scale() == plan.nodes[0].scale, "argument at level ",
            x.level(), " and scale ", x.scale(), ", planned for level ", plan.nodes[0].level, " and scale ",
            plan.nodes[0].scale);
  const std::vector<size_t> last_use = last_uses(plan);
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

}  // namespace psm::ckks
