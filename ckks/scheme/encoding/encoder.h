// Encoder: from complex vectors to polynomials with integer coefficients; decoder.h goes back.
//
// Slot j of the polynomial m(X) is m(zeta^(5^j)) / scale with zeta = exp(i pi / N), j = 0 .. N/2 - 1.
// Rotation by k therefore moves slot s + k to slot s. Encoding rounds each coefficient to the nearest
// integer: an error of standard deviation sqrt(N/12) / scale a slot (complex). Coefficients from 2^51 on are cut
// towards zero, where the residues are taken.
//
// A vector shorter than N/2 (a power of two m) is repeated with period m and encoded as 2m coefficients.
//
// No branch and no address depends on a value, with three exceptions. A refusal says what it found. The size
// of the largest coefficient (below q_0 / 2, below 2^62, or above) decides how residues are taken; for values
// of the usual size the scale alone decides it. And the processor may take longer for numbers below 2^-1022.
//
// Throws Error: size not a power of two or above N/2, NaN or infinity, a coefficient beyond half the modulus.
// Thread-safe: const, scratch memory from the pool.
#pragma once

#include <complex>
#include <span>

#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/encoding/embedding.h"
#include "ckks/scheme/encoding/plaintext.h"
#include "ckks/scheme/encoding/residue_maker.h"

namespace psm::ckks {

class Encoder {
 public:
  // `maker` makes the plaintexts: an engine's (ckks/engine/engine.h), or the host's if it is null. It must
  // outlive the encoder.
  explicit Encoder(const Context& context, const ResidueMaker* maker = nullptr);
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Encodes at the context's scale for the level, unless another is given. `extended`: also modulo the special primes.
  Plaintext encode(std::span<const std::complex<double>> values, Level level) const;
  Plaintext encode(std::span<const std::complex<double>> values, Level level, Scale scale,
                   bool extended = false) const;
  // A plaintext's coefficients, rounded below 2^51, twice as many as values. Its residues are made of them.
  struct Coefficients {
    Buffer words;    // doubles
    double largest;  // absolute value

    const double* data() const { return reinterpret_cast<const double*>(words.data()); }
    size_t size() const { return words.size(); }
  };
  Coefficients coefficients(std::span<const std::complex<double>> values, Level level, Scale scale) const;
  const ResidueMaker& maker() const { return *maker_; }

 private:
  const Context& context_;
  HostResidueMaker host_;
  const ResidueMaker* maker_;
  const Embedding embedding_;
};

}  // namespace psm::ckks
