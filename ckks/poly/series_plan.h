// How a series is evaluated on slots, by levels and scales alone. Depth, products and key switches are known
// without any ciphertext or key.
//
// Method: Paterson and Stockmeyer (SIAM J. Comput. 2, 1973) in the recursive, depth-optimal form: p = q T_m +
// r, with m the largest power of two <= degree(p). q has one level less to spend, and r goes into the same
// sum. A series of degree d takes exactly ceil(log2(d + 1)) levels, the multiplication by coefficients
// included. All products of one sum are added before one relinearisation and one rescaling.
//
// Everything is one kind of step:
//
//     node = Rescale( sum_products w a b  +  sum_terms c a )  +  constant,      w = 1 or 2
//
// at `level` + 1 before and `level` after the rescaling. Chebyshev powers are such nodes as well:
// T_{a+b} = 2 T_a T_b - T_{a-b}.
//
// Scales are exact on every path. A node knows the scale `sum_scale` of its sum. A coefficient c of a node of
// scale s is encoded as the integer round(c * sum_scale / s). So operands may have different levels and
// scales: limbs are dropped, and nothing is rescaled to fit. Cofactors q get the scale that makes q * T_m
// exact. So input and output scales are free.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ckks/poly/series.h"
#include "ckks/scheme/chain/scale.h"

namespace psm::ckks {

struct SeriesPlan {
  struct Product {
    int left, right;  // nodes
    bool doubled;
  };
  struct Term {
    int node;
    double coefficient;
  };
  struct Node {
    Level level = 0;    // after the rescaling
    Scale scale;        // after the rescaling
    Scale sum_scale{};  // before it: scale * q_{level+1}
    std::vector<Product> products{};
    std::vector<Term> terms{};
    double constant = 0;
  };

  // nodes[0] is the argument; each node uses only earlier ones; the last is the result.
  std::vector<Node> nodes;

  int products() const;  // ciphertext x ciphertext products
  int relinearisations() const { return static_cast<int>(relinearisation_levels().size()); }
  std::vector<Level> relinearisation_levels() const;  // of the keys of nodes with products
};

// Plans p(x) for x at `input_level` with `input_scale`; the result has level input_level - p.depth() and exactly
// `output_scale`. primes[l] = q_l. The number of baby steps is the power of two with the least key-switch work. Throws
// Error if the levels do not suffice. Constants (degree 0) are refused: they need no ciphertext.
SeriesPlan plan_series(const Series& p, Level input_level, Scale input_scale, Scale output_scale,
                       std::span<const uint64_t> primes);

// From a level on, on primes and scales of 2^40: levels and products do not depend on them.
SeriesPlan plan_series(const Series& p, Level input_level);

// For each node the last node that uses it; 0 for the result. An evaluation may free each node there.
std::vector<size_t> last_uses(const SeriesPlan&);

// The values of the nodes on plain numbers, without rounding. The argument is first; the result is last and
// must equal evaluate(p, x).
template <typename T>
std::vector<T> node_values(const SeriesPlan& plan, T x) {
  std::vector<T> values{x};
  for (size_t n = 1; n < plan.nodes.size(); ++n) {
    T value = plan.nodes[n].constant;
    for (const SeriesPlan::Product& product : plan.nodes[n].products)
      value += (product.doubled ? 2 : 1) * values[product.left] * values[product.right];
    for (const SeriesPlan::Term& term : plan.nodes[n].terms) value += term.coefficient * values[term.node];
    values.push_back(value);
  }
  return values;
}

}  // namespace psm::ckks
