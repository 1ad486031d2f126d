// Decoder: from polynomials with integer coefficients to the complex vectors that they encode (encoder.h).
//
// Intermediate values are wiped. No branch and no address depends on a value.
//
// Thread-safe.
#pragma once

#include <complex>
#include <vector>

#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/encoding/embedding.h"

namespace psm::ckks {

class Decoder {
 public:
  // Decoding reads the residues of at most three primes, about 120 bits, and takes the representative nearest
  // to zero. Messages are far smaller.
  static constexpr int kLimbs = 3;

  explicit Decoder(const Context& context) : context_(context), embedding_(context.log_n() - 1) {}

  // Returns all N/2 slots of a polynomial in NTT form. Throws Error for a scale beyond
  // 2^log2_readable(level), at which a value of size 1 would wrap around.
  std::vector<std::complex<double>> decode(RnsPoly poly, Scale scale) const;
  // log2 of the largest coefficient that decode() reads at a level: half the product of the primes that it
  // reads, and at most 2^126. Larger coefficients wrap around.
  double log2_readable(Level level) const;

 private:
  const Context& context_;
  const Embedding embedding_;
};

}  // namespace psm::ckks
