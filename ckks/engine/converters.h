// The changes of basis of key switching and rescaling (basis_conversion.h), made at their first use and kept.
//
//     mod_up      the primes of a digit -> all others of q_0 .. q_level and p_count special ones
//     mod_down    p_count special primes -> q_0 .. q_level: round(x / P); with a rescaling these and q_level
//                 -> q_0 .. q_{level-1}: round(x / (P q_level)), also without special primes
//     lift        q_0 -> `count` primes from index `first` on, such as q_1 .. q_level or special primes
//
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <numeric>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/ring/basis_conversion.h"
#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

class Converters {
 public:
  explicit Converters(const Context& context) : context_(context) {
    const Ring& ring = context.ring();
    for (int j = 0; j < ring.q_count(); ++j) {
      const Modulus& m = ring.q(j);
      std::vector<Multiplier>& products = p_products_.emplace_back();
      uint64_t product = 1;
      for (int i = 0; i < ring.p_count(); ++i) {
        product = mul_mod(product, reduce_mod(context.p(i), m), m);
        products.push_back(make_multiplier(product, m));
      }
    }
  }

  const BasisConverter& mod_up(Level level, int digit, int p_count) const {
    const DigitRange own = context_.digit(digit, level);
    Primes sources, targets;
    for (int i = 0; i <= level; ++i) (i >= own.begin && i < own.end ? sources : targets).push_back(i);
    for (int i = 0; i < p_count; ++i) targets.push_back(context_.ring().q_count() + i);
    return kept(std::move(sources), std::move(targets));
  }
  const BasisConverter& mod_down(Level level, int p_count, bool rescales) const {
    Primes sources(static_cast<size_t>(p_count)), targets(static_cast<size_t>(level) + (rescales ? 0 : 1));
    std::iota(sources.begin(), sources.end(), context_.ring().q_count());
    std::iota(targets.begin(), targets.end(), 0);
    if (rescales) sources.push_back(level);
    return kept(std::move(sources), std::move(targets));
  }
  const BasisConverter& lift(int first, int count) const {
    Primes targets(static_cast<size_t>(count));
    std::iota(targets.begin(), targets.end(), first);
    return kept({0}, std::move(targets));
  }

  // [P]_{q_j} for the product P of the first p_count special primes.
  const Multiplier& p_product(int j, int p_count) const {
    PSM_CHECK(p_count >= 1 && p_count <= static_cast<int>(p_products_[j].size()), p_count, " special primes");
    return p_products_[j][p_count - 1];
  }

 private:
  using Primes = std::vector<int>;
  const BasisConverter& kept(Primes sources, Primes targets) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const std::pair key(std::move(sources), std::move(targets));
    return converters_.try_emplace(key, context_.ring(), key.first, key.second).first->second;
  }

  const Context& context_;
  std::vector<std::vector<Multiplier>> p_products_;  // by prime, by number of special primes less one
  mutable std::mutex mutex_;
  mutable std::map<std::pair<Primes, Primes>, const BasisConverter> converters_;
};

}  // namespace psm::ckks
