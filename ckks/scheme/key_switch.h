// KeySwitcher: the three steps of hybrid key switching (ePrint 2019/688), on polynomials.
//
//     decompose       c -> digits d_i = [c]_{D_i}, extended to Q_l P (ModUp), NTT form
//     inner_product   (sum_i d_i b_i, sum_i d_i a_i) modulo Q_l P, reduced once a residue
//     mod_down        x -> round(x / P), or round(x / (P q_l)) merged with a rescale
//
// Both conversions are exact and centred (basis_conversion.h): a digit is uniform in [-D_i/2, D_i/2], and ModDown
// rounds to the nearest integer. NTTs per switch at l + 1 limbs, k special primes and d digits: l + 1 inverse and
// d (l + 1 + k) - (l + 1) forward for decompose, 2k inverse and 2(l + 1) forward for mod_down of two polynomials.
//
// Thread-safe; conversion tables are made at their first use and kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "ckks/ring/basis_conversion.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/context.h"
#include "ckks/scheme/keys.h"

namespace psm {

class KeySwitcher {
 public:
  explicit KeySwitcher(const Context& context) : context_(context) {}

  // c: NTT form, level l, no special primes. p_count: of the key that will be used.
  std::vector<RnsPoly> decompose(const RnsPoly& c, int p_count) const;

  // One limb j of the digits' basis: N residues each.
  void inner_product_limb(const std::vector<RnsPoly>& digits, const KeySwitchKey& key, int j, uint64_t* out0,
                          uint64_t* out1) const;
  // All limbs; out polynomials have the digits' basis.
  void inner_product(const std::vector<RnsPoly>& digits, const KeySwitchKey& key, RnsPoly& out0,
                     RnsPoly& out1) const;

  // round(x / P) at x's level, or round(x / (P q_l)) one level lower. NTT form in and out.
  RnsPoly mod_down(const RnsPoly& x, bool rescale) const;
  // round(x / q_l), for a polynomial without special primes.
  RnsPoly rescale(const RnsPoly& x) const;

  // [P]_{q_j} for the first p_count special primes.
  const Multiplier& p_product(int j, int p_count) const;

 private:
  // Kind 0: ModUp of digit `index` at a level; 1: ModDown; 2: ModDown with rescale.
  using ConverterId = std::tuple<int, int, int, int>;  // kind, level, index, p_count
  const BasisConverter& converter(int kind, int level, int index, int p_count) const;

  const Context& context_;
  mutable std::mutex mutex_;
  mutable std::map<ConverterId, std::unique_ptr<const BasisConverter>> converters_;
};

}  // namespace psm
