#include "ckks/poly/evaluate_series.h"

#include <cmath>
#include <optional>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// The argument, and the nodes after it that are made and not yet freed.
struct Nodes {
  const Ciphertext& argument;
  std::vector<std::optional<Ciphertext>> made;

  const Ciphertext& operator[](size_t i) const { return i == 0 ? argument : *made[i]; }
};

int64_t rounded(double value) {
  PSM_CHECK(std::abs(value) < 0x1p62, "coefficient ", value, " exceeds 62 bits");
  return std::llround(value);
}

Ciphertext evaluate_node(const Evaluator& evaluator, const SeriesPlan& plan, size_t index,
                         const Nodes& values) {
  const SeriesPlan::Node& node = plan.nodes[index];
  const Basis basis{node.level + 2, 0};
  std::vector<Term> terms;
  for (const auto& term : node.terms) {
    terms.push_back(
        {values[term.node].c, rounded(term.coefficient * (node.sum_scale / plan.nodes[term.node].scale))});
  }
  const Ring& ring = evaluator.context().ring();
  Ciphertext out;
  if (node.products.empty()) {
    out = {ring, basis, node.sum_scale, values[0].fingerprint, values[0].memory()};
    evaluator.engine().combine(out.c, terms);
    out = evaluator.rescale(out);
  } else {
    const bool doubled = node.products.front().doubled;
    std::vector<Factors> factors;
    for (const auto& product : node.products) {
      PSM_CHECK(product.doubled == doubled);
      factors.push_back({&values[product.left], &values[product.right]});
    }
    ProductCiphertext sum(ring, basis, node.sum_scale, values[0].fingerprint, values[0].memory());
    const Engine::Sum wanted{sum.c, factors, doubled, terms};
    evaluator.engine().multiply_sums({&wanted, 1});
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
  Nodes values{x, std::vector<std::optional<Ciphertext>>(plan.nodes.size())};
  for (size_t i = 1; i < plan.nodes.size(); ++i) {
    values.made[i] = evaluate_node(evaluator, plan, i, values);
    for (size_t k = 1; k < i; ++k) {
      if (last_use[k] == i) values.made[k].reset();
    }
  }
  return std::move(*values.made.back());
}

}  // namespace psm::ckks
