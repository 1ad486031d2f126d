#include "ckks/poly/series_worst_case.h"

#include <cmath>
#include <cstdlib>
#include <vector>

namespace psm::ckks {
namespace {

using Coefficients = std::vector<double>;  // Chebyshev

void add(Coefficients& sum, const Coefficients& a, double factor) {
  if (sum.size() < a.size()) sum.resize(a.size(), 0);
  for (size_t k = 0; k < a.size(); ++k) sum[k] += factor * a[k];
}

// T_j T_k = (T_{j+k} + T_{|j-k|}) / 2.
Coefficients product(const Coefficients& a, const Coefficients& b) {
  Coefficients out(a.size() + b.size() - 1, 0);
  for (size_t j = 0; j < a.size(); ++j) {
    for (size_t k = 0; k < b.size(); ++k) {
      const double half = a[j] * b[k] / 2;
      out[j + k] += half;
      out[j > k ? j - k : k - j] += half;
    }
  }
  return out;
}

}  // namespace

double worst_case_size(std::span<const double> coefficients) {
  const double angle = std::acosh(1 + kArgumentSlack);
  double sum = 0;
  for (size_t k = 0; k < coefficients.size(); ++k)
    sum += std::abs(coefficients[k]) * std::cosh(static_cast<double>(k) * angle);
  return sum * (1 + 0x1p-30);  // and their own rounding
}

double worst_case_series(const WorstCaseModel& model, const SeriesPlan& plan, double error) {
  std::vector<Coefficients> values{{0, 1}};
  std::vector<double> sizes{1 + kArgumentSlack}, errors{error};
  for (size_t n = 1; n < plan.nodes.size(); ++n) {
    const SeriesPlan::Node& node = plan.nodes[n];
    Coefficients value{node.constant};
    double bound = model.rescale(node.scale);
    if (!node.products.empty()) bound += model.key_switch(node.level + 1, node.sum_scale);
    for (const SeriesPlan::Product& p : node.products) {
      const auto a = static_cast<size_t>(p.left), b = static_cast<size_t>(p.right);
      const double weight = p.doubled ? 2 : 1;
      add(value, product(values[a], values[b]), weight);
      bound += weight * WorstCaseModel::product(sizes[a], errors[a], sizes[b], errors[b]);
    }
    for (const SeriesPlan::Term& term : node.terms) {
      const auto a = static_cast<size_t>(term.node);
      const double rounding = plan.nodes[a].scale / node.sum_scale / 2;  // of the integer that stands for it
      add(value, values[a], term.coefficient);
      bound += (std::abs(term.coefficient) + rounding) * errors[a] + rounding * sizes[a];
    }
    sizes.push_back(worst_case_size(value));
    errors.push_back(bound);
    values.push_back(std::move(value));
  }
  return errors.back();
}

}  // namespace psm::ckks
