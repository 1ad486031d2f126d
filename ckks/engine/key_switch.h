// KeySwitcher: hybrid key switching (ePrint 2019/688) on polynomials.
//
//     decompose       c -> digits d_i = [c]_{D_i}, extended to Q_l P (ModUp), NTT form
//     switch_key      round( (P a_0 + sum_i d_i b_i, P a_1 + sum_i d_i a_i) / P ), or divided by P q_l, one
//                     level lower; optionally followed by an automorphism
//     mod_down        round(x / P), mod_down_rescale round(x / (P q_l)): the same divisions of what is there
//                     already
//
// Both conversions are exact and centred (basis_conversion.h): a digit is uniform in [-D_i/2, D_i/2], and the
// division rounds to the nearest integer.
//
// Transforms at l + 1 limbs, k special primes and d digits: l + 1 inverse and d (l + 1 + k) - (l + 1) forward
// to decompose; 2k inverse and 2 (l + 1) forward to divide two polynomials. Bytes: the key is read once;
// digits are written and read once, and a decomposition that serves one key only is transformed where it is
// summed, so its transforms never leave the cache. Sums of products stay in the first-level cache: they are
// made stretch by stretch where the division needs them.
//
// Thread-safe.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/engine/converters.h"
#include "ckks/engine/operands.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

// Residues of a limb that are made at a time, so that they stay in the first-level cache.
constexpr size_t kMaxTile = 1024;

class KeySwitcher {
 public:
  explicit KeySwitcher(const Context& context);
  const Context& context() const { return context_; }

  // c: NTT form, no special primes; must outlive the result. p_count: of the key that will be used.
  Digits decompose(const RnsPoly& c, int p_count) const;

  // Places [begin, end) of limb j of the digits' basis of (sum_i d_i b_i, sum_i d_i a_i); digits in NTT form.
  void inner_product(const Digits& digits, const KeySwitchKey& key, int j, size_t begin, size_t end,
                     uint64_t* out0, uint64_t* out1) const;

  std::array<RnsPoly, 2> switch_key(const Digits& digits, const KeySwitchKey& key,
                                    const SwitchOptions& options) const;
  // Switches the digits of c, which no other key needs.
  std::array<RnsPoly, 2> switch_key(const RnsPoly& c, const KeySwitchKey& key,
                                    const SwitchOptions& options) const;

  // round(x / P) at x's level, and round(x / (P q_l)) one level lower. NTT form in and out.
  RnsPoly mod_down(const RnsPoly& x) const;
  std::array<RnsPoly, 2> mod_down(const RnsPoly& x0, const RnsPoly& x1) const;
  std::array<RnsPoly, 2> mod_down_rescale(const RnsPoly& x0, const RnsPoly& x1) const;
  // The same of `count` pairs of polynomials over `basis` that never stand in memory: tiles(i, j, begin,
  // size, out0, out1) makes places [begin, begin + size) of limb j of pair i, size at most kMaxTile, each
  // place once; the same places of all pairs one after another, so that what they share is in the cache.
  using Tiles = std::function<void(size_t, int, size_t, size_t, uint64_t*, uint64_t*)>;
  std::vector<std::array<RnsPoly, 2>> mod_down_rescale(Basis basis, size_t count, const Tiles& tiles) const;
  // round(x / q_l), for polynomials without special primes.
  std::array<RnsPoly, 2> rescale(const RnsPoly& x0, const RnsPoly& x1) const;

  const Converters& converters() const { return converters_; }

 private:
  // Digits whose extensions are coefficients still.
  Digits split(const RnsPoly& c, int p_count) const;
  // Limb j of every digit in NTT form.
  struct DigitLimbs {
    Buffer room;  // of those that were transformed for it
    std::vector<const uint64_t*> limbs;
  };
  DigitLimbs transformed_limb(const Digits& digits, int j) const;
  void check_key(const Digits& digits, const KeySwitchKey& key) const;
  // Places [begin, end) of sum_i d_i (b_i, a_i), d_i given by their limbs j.
  void inner_product(const Digits& digits, const uint64_t* const* limbs, const KeySwitchKey& key, int j,
                     size_t begin, size_t end, uint64_t* out0, uint64_t* out1) const;

  const Context& context_;
  Converters converters_;
};

}  // namespace psm::ckks
