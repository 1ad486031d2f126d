// KeySwitcher: hybrid key switching (ePrint 2019/688) on polynomials.
//
//     decompose       c -> digits d_i = [c]_{D_i}, extended to Q_l P (ModUp), NTT form
//     switch_key      round( (P a_0 + sum_i d_i b_i, P a_1 + sum_i d_i a_i) / P ), or divided by P q_l, one
//                     level lower; optionally followed by an automorphism
//     mod_down        the same division for polynomials that are there already
//
// Both conversions are exact and centred (basis_conversion.h): a digit is uniform in [-D_i/2, D_i/2], and the
// division rounds to the nearest integer.
//
// Transforms at l + 1 limbs, k special primes and d digits: l + 1 inverse and d (l + 1 + k) - (l + 1) forward
// to decompose; 2k inverse and 2 (l + 1) forward to divide two polynomials. Bytes: the digits are written and
// read once, the key is read once; sums of products stay in the cache: they are made limb by limb where the
// division needs them. Transforms modulo one prime follow each other, so that its table of roots is read
// once.
//
// Thread-safe; conversion tables are made at their first use and kept.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/ring/basis_conversion.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/context.h"
#include "ckks/scheme/keys.h"

namespace psm {

// The digits of a polynomial, which is borrowed: limbs of a digit's own primes are the polynomial's.
struct Digits {
  Basis basis;
  int count = 0;
  std::vector<Buffer> extensions;      // one a digit
  std::vector<const uint64_t*> limbs;  // limb j of digit i at j * count + i

  const uint64_t* const* limb(int j) const { return limbs.data() + static_cast<size_t>(j) * count; }
};

class KeySwitcher {
 public:
  explicit KeySwitcher(const Context& context);

  // c: NTT form, no special primes; must outlive the result. p_count: of the key that will be used.
  Digits decompose(const RnsPoly& c, int p_count) const;

  // One limb j of the digits' basis of (sum_i d_i b_i, sum_i d_i a_i): N residues each.
  void inner_product_limb(const Digits& digits, const KeySwitchKey& key, int j, uint64_t* out0,
                          uint64_t* out1) const;

  struct Options {
    const RnsPoly* addend0 = nullptr;  // a_0, a_1 above; may be absent
    const RnsPoly* addend1 = nullptr;
    bool rescale = false;
    GaloisElement automorphism = 1;
  };
  std::array<RnsPoly, 2> switch_key(const Digits& digits, const KeySwitchKey& key,
                                    const Options& options) const;

  // round(x / P) at x's level, or round(x / (P q_l)) one level lower. NTT form in and out.
  std::array<RnsPoly, 2> mod_down(const RnsPoly& x0, const RnsPoly& x1, bool rescale) const;
  RnsPoly mod_down(const RnsPoly& x) const;
  // round(x / q_l), for polynomials without special primes.
  std::array<RnsPoly, 2> rescale(const RnsPoly& x0, const RnsPoly& x1) const;

  // [P]_{q_j} for the product P of the first p_count special primes: all of them, or one.
  const Multiplier& p_product(int j, int p_count) const;

 private:
  enum Kind { kModUp, kModDown, kModDownRescale };
  // `index`: the digit, for ModUp.
  const BasisConverter& converter(Kind kind, int level, int index, int p_count) const;

  const Context& context_;
  std::vector<Multiplier> p_products_, first_p_;
  mutable std::mutex mutex_;
  mutable std::map<std::tuple<Kind, int, int, int>, std::unique_ptr<const BasisConverter>> converters_;
};

}  // namespace psm
