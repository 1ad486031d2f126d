// The changes of basis of key switching and rescaling (basis_conversion.h), made at their first use and kept.
//
//     mod_up             the primes of a digit -> all others of q_0 .. q_level and p_count special ones
//     mod_down           p_count special primes -> q_0 .. q_level: round(x / P)
//     mod_down_rescale   these and q_level -> q_0 .. q_{level-1}: round(x / (P q_level))
//
// Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "ckks/ring/basis_conversion.h"
#include "ckks/scheme/chain/context.h"

namespace psm::ckks {

class Converters {
 public:
  explicit Converters(const Context& context);

  const BasisConverter& mod_up(Level level, int digit, int p_count) const;
  const BasisConverter& mod_down(Level level, int p_count) const;
  const BasisConverter& mod_down_rescale(Level level, int p_count) const;

  // [P]_{q_j} for the product P of the first p_count special primes.
  const Multiplier& p_product(int j, int p_count) const;

 private:
  enum Kind { kModUp, kModDown, kModDownRescale };
  const BasisConverter& kept(Kind kind, Level level, int digit, int p_count) const;

  const Context& context_;
  std::vector<std::vector<Multiplier>> p_products_;  // by prime, by number of special primes less one
  mutable std::mutex mutex_;
  mutable std::map<std::tuple<Kind, int, int, int>, std::unique_ptr<const BasisConverter>> converters_;
};

}  // namespace psm::ckks
