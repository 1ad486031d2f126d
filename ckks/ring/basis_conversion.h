// BasisConverter: from residues modulo r_0 .. r_{m-1} to residues modulo other primes of the ring.
//
// With D = r_0 ... r_{m-1} and y_i = [x (D/r_i)^{-1}]_{r_i}, the integer sum_i y_i D/r_i is x + u D for some
// 0 <= u <= m (Bajard et al., SAC 2016). u is the nearest integer to sum_i y_i / r_i, in double precision
// (Halevi, Polyakov, Shoup, ePrint 2018/117). So the result is the representative of x in [-D/2, D/2]. A sum
// within 2^-48 of a half may be rounded either way: both results represent x. Without this correction every
// coefficient of x + u D would have the mean m D / 2, which gathers in few slots.
//
// Immutable, thread-safe. Converting a stretch of coefficients uses one thread and allocates nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ckks/ring/ring.h"

namespace psm::ckks {

class BasisConverter {
 public:
  static constexpr int kMaxSources = 16;

  // `sources` and `targets` are prime indices of the ring (Ring::modulus).
  BasisConverter(const Ring& ring, std::vector<int> sources, std::vector<int> targets);

  int source_count() const { return static_cast<int>(sources_.size()); }
  int target_count() const { return static_cast<int>(targets_.size()); }
  int source(int i) const { return sources_[i]; }
  int target(int j) const { return targets_[j]; }
  // The inverse transform of source limb i, multiplied by (D/r_i)^{-1} mod r_i as convert() expects. The
  // product costs nothing: the last layer multiplies by a constant anyway.
  const NttView& inverse_transform(int i) const { return inverse_transforms_[i]; }
  // D^{-1} modulo target j, the last factor of a division by D.
  const Multiplier& inverse_product(int j) const { return inverse_products_[j]; }

  // The constants of convert(): for each target, all D/r_i modulo it, then -D; and 1 / r_i in doubles.
  std::span<const uint64_t> matrix() const { return matrix_; }
  std::span<const double> reciprocals() const { return reciprocals_; }

  // Coefficients [begin, end) (multiples of 8) of limbs of n: target j at out + j n, from the results of
  // inverse_transform(i) at y + i n.
  void convert(uint64_t* out, const uint64_t* y, size_t n, size_t begin, size_t end) const;

 private:
  std::vector<int> sources_, targets_;
  std::vector<Multiplier> inverse_products_;
  std::vector<NttView> inverse_transforms_;
  std::vector<uint64_t> matrix_;
  std::vector<Modulus> target_moduli_;
  std::vector<double> reciprocals_;
};

}  // namespace psm::ckks
