// The changes of basis of key switching and rescaling (basis_conversion.h), made at their first use and kept.
//
//     mod_up      the primes of a digit -> all others of q_0 .. q_level and p_count special ones
//     mod_down    p_count special primes -> q_0 .. q_level: round(x / P); with a rescaling these and q_level
//                 -> q_0 .. q_{level-1}: round(x / (P q_level)), also without special primes
//     lift        q_0 -> q_1 .. q_level
//
// Thread-safe.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "ckks/ring/basis_conversion.h"
#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

class Converters {
 public:
  explicit Converters(const Context& context);

  const BasisConverter& mod_up(Level level, int digit, int p_count) const;
  const BasisConverter& mod_down(Level level, int p_count, bool rescales) const;
  const BasisConverter& lift(Level level) const;

  // [P]_{q_j} for the product P of the first p_count special primes.
  const Multiplier& p_product(int j, int p_count) const;

 private:
  using Primes = std::vector<int>;
  const BasisConverter& kept(Primes sources, Primes targets) const;

  const Context& context_;
  std::vector<std::vector<Multiplier>> p_products_;  // by prime, by number of special primes less one
  mutable std::mutex mutex_;
  mutable std::map<std::pair<Primes, Primes>, const BasisConverter> converters_;
};

}  // namespace psm::ckks
