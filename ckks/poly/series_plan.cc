#include "ckks/poly/series_plan.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

int ceil_log2(int x) { return x <= 1 ? 0 : std::bit_width(static_cast<unsigned>(x - 1)); }

// Builds one plan with a given number of baby steps (terms of lower degree than that are not divided further).
class Planner {
 public:
  Planner(int baby_steps, Level input_level, Scale input_scale, std::span<const uint64_t> primes)
      : baby_steps_(baby_steps), input_level_(input_level), primes_(primes) {
    plan_.nodes.push_back({.level = input_level, .scale = input_scale});
    powers_[1] = 0;
  }

  SeriesPlan run(const Series& p, Scale output_scale) {
    evaluate_with(p, p.depth(), output_scale);
    return std::move(plan_);
  }

 private:
  // T_k, at depth ceil(log2 k).
  int power(int k) {
    if (const auto it = powers_.find(k); it != powers_.end()) return it->second;
    const int a = 1 << (ceil_log2(k) - 1), b = k - a;  // a >= b, both of smaller depth
    SeriesPlan::Node node;
    const int left = power(a), right = power(b);
    node.products.push_back({left, right, true});
    if (a == b) node.constant = -1;
    if (a != b) node.terms.push_back({power(a - b), -1.0});
    node.level = input_level_ - ceil_log2(k);
    node.sum_scale = plan_.nodes[left].scale * plan_.nodes[right].scale;
    node.scale = after_rescale(node.sum_scale, primes_[node.level + 1]);
    return powers_[k] = append(std::move(node));
  }

  // A node of depth `depth` and scale `scale` with the value p.
  int evaluate_with(const Series& p, int depth, Scale scale) {
    const Level level = input_level_ - depth;
    SeriesPlan::Node node{
        .level = level, .scale = scale, .sum_scale = before_rescale(scale, primes_[level + 1])};
    collect(p, depth, node);
    return append(std::move(node));
  }

  // Adds p to the node's sum. Operands are of depth < `depth`.
  void collect(const Series& p, int depth, SeriesPlan::Node& node) {
    const int degree = p.degree();
    if (degree == 0) {
      node.constant += p.coefficients.empty() ? 0 : p.coefficients[0];
      return;
    }
    if (degree < baby_steps_ && ceil_log2(degree) < depth) {
      for (int k = 1; k <= degree; ++k) {
        if (p.coefficients[k] != 0) node.terms.push_back({power(k), p.coefficients[k]});
      }
      node.constant += p.coefficients[0];
      return;
    }
    const int m = static_cast<int>(std::bit_floor(static_cast<unsigned>(degree)));
    const SeriesDivision division = divide(p, m);
    const int giant = power(m);
    if (division.quotient.degree() == 0) {
      node.terms.push_back({giant, division.quotient.coefficients[0]});
    } else {
      const int cofactor =
          evaluate_with(division.quotient, depth - 1, Scale(node.sum_scale / plan_.nodes[giant].scale));
      node.products.push_back({cofactor, giant, false});
    }
    collect(division.remainder, depth, node);
  }

  int append(SeriesPlan::Node node) {
    plan_.nodes.push_back(std::move(node));
    return static_cast<int>(plan_.nodes.size()) - 1;
  }

  int baby_steps_;
  Level input_level_;
  std::span<const uint64_t> primes_;
  SeriesPlan plan_;
  std::map<int, int> powers_;
};

}  // namespace

int SeriesPlan::products() const {
  int count = 0;
  for (const Node& node : nodes) count += static_cast<int>(node.products.size());
  return count;
}

SeriesPlan plan_series(const Series& p, Level input_level, Scale input_scale, Scale output_scale,
                       std::span<const uint64_t> primes) {
  const int degree = p.degree();
  if (degree == 0) throw Error("series of degree 0: a constant needs no evaluation; add it to what it meets");
  if (input_level < p.depth()) {
    throw Error(message("series of degree ", degree, " needs ", p.depth(), " levels but its argument has ",
                        input_level, ": bootstrap earlier or lower the degree"));
  }
  PSM_CHECK(static_cast<size_t>(input_level) < primes.size(), "level ", input_level, " of ", primes.size());
  // Limbs that are relinearised, and products.
  const auto work = [](const SeriesPlan& of) {
    int limbs = 0;
    for (const Level level : of.relinearisation_levels()) limbs += level + 1;
    return std::pair(limbs, of.products());
  };
  std::optional<SeriesPlan> best;
  for (int baby_steps = 2; baby_steps <= 64 && baby_steps <= 2 * degree; baby_steps *= 2) {
    SeriesPlan plan = Planner(baby_steps, input_level, input_scale, primes).run(p, output_scale);
    if (!best || work(plan) < work(*best)) best = std::move(plan);
  }
  return std::move(*best);
}

SeriesPlan plan_series(const Series& p, Level input_level) {
  const std::vector<uint64_t> primes(static_cast<size_t>(input_level) + 1, uint64_t{1} << 40);
  return plan_series(p, input_level, Scale(0x1p40), Scale(0x1p40), primes);
}

std::vector<size_t> last_uses(const SeriesPlan& plan) {
  std::vector<size_t> last_use(plan.nodes.size(), 0);
  for (size_t i = 1; i < plan.nodes.size(); ++i) {
    for (const auto& product : plan.nodes[i].products) last_use[product.left] = last_use[product.right] = i;
    for (const auto& term : plan.nodes[i].terms) last_use[term.node] = i;
  }
  return last_use;
}

std::vector<Level> SeriesPlan::relinearisation_levels() const {
  std::vector<Level> levels;
  for (const Node& node : nodes)
    if (!node.products.empty()) levels.push_back(node.level + 1);
  return levels;
}

int Series::degree() const {
  int d = static_cast<int>(coefficients.size()) - 1;
  while (d > 0 && coefficients[d] == 0) --d;
  return d < 0 ? 0 : d;
}

int Series::depth() const { return std::bit_width(static_cast<unsigned>(degree())); }

SeriesDivision divide(const Series& p, int m) {
  const int degree = p.degree();
  PSM_CHECK(m >= 1 && degree < 2 * m, "degree ", degree, ", divisor of degree ", m);
  SeriesDivision out;
  out.remainder.coefficients.assign(p.coefficients.begin(),
                                    p.coefficients.begin() + std::min<size_t>(m, p.coefficients.size()));
  out.remainder.coefficients.resize(m, 0.0);
  out.quotient.coefficients.assign(std::max(degree - m, 0) + 1, 0.0);
  for (int i = 0; i <= degree - m; ++i) {
    const double c = p.coefficients[m + i];
    out.quotient.coefficients[i] = i == 0 ? c : 2 * c;
    if (i > 0) out.remainder.coefficients[m - i] -= c;
  }
  return out;
}

}  // namespace psm::ckks
