// Context: a validated, immutable parameter set with everything derived from it.
//
// Notation: level l uses the primes q_0 .. q_l (l + 1 limbs); Q_l = q_0 ... q_l; P = p_0 ... p_{k-1}.
//
// Canonical scales (Kim, Papadimitriou, Polyakov, ePrint 2020/1118): a ciphertext at level l that is ready
// for the next operation has the scale S_l = scale(l), where S_{l-1} = S_l^2 / q_l. So two operands of one
// level always have the same scale, and their product is canonical again after Rescale. Each prime is the
// nearest free one to S_l^2 / 2^bits, which keeps all S_l within 2^-13 of 2^log_scale. The top of the
// computing levels has exactly 2^log_scale. The bootstrap's levels (EvalMod, CtS) have a sequence of their
// own, near 2^bits of their primes; the bootstrap itself moves between the two.
//
// Digits of key switching (hybrid, Han and Ki, ePrint 2019/688): consecutive primes are packed into digits, from q_0
// upwards; chain.h has the digits of each band of levels. All keys of a band share its digits and special primes, so one
// hoisted decomposition serves every key. A key is trimmed to the highest level of its use within the band.
//
// Thread-safety: immutable after construction. Not copyable; outlives everything made from it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/chain.h"
#include "ckks/scheme/chain/parameters.h"
#include "ckks/scheme/chain/scale.h"

namespace psm::ckks {

class Context {
 public:
  // Throws Error for what is impossible or, unless spec.insecure, beyond the security table.
  explicit Context(const ParameterSpec& spec);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const ParameterSpec& spec() const { return spec_; }
  const Chain& chain() const { return chain_; }
  const Ring& ring() const { return *ring_; }
  int log_n() const { return spec_.log_n; }
  int n() const { return 1 << spec_.log_n; }
  int slots() const { return n() / 2; }

  Level max_level() const { return chain_.max_level; }          // L
  Level compute_level() const { return chain_.compute_level; }  // highest after a bootstrap
  Level entry_level() const { return chain_.entry_level; }      // needed to enter a bootstrap
  Level evalmod_level() const { return chain_.evalmod_level; }
  bool can_bootstrap() const { return spec_.evalmod_levels > 0 && spec_.cts_levels > 0; }

  // S_l. Every way to compute it from canonical operations gives these very bits.
  Scale scale(Level level) const;
  std::span<const double> scales() const { return scales_; }  // by level
  // The scale of a ciphertext after its rescale from `level`: scale / q_level, or S_{level-1} itself if they
  // differ by no more than the rounding of doubles.
  Scale rescaled(Scale scale, Level level) const;
  uint64_t q(int index) const { return ring_->q(index).value; }
  uint64_t p(int index) const { return ring_->p(index).value; }

  // Key switching at a level: its band, and the special primes p_0 .. p_{p_count-1} and digits used there.
  int band(Level level) const { return chain_.band(level); }
  int p_count(Level level) const { return chain_.special_primes(level); }
  int digit_count(Level level) const { return chain_.digits(level); }
  DigitRange digit(int index, Level level) const { return chain_.digit(index, level); }

  double log2_q(Level level) const;
  double log2_p(Level level) const;
  double log2_qp() const;  // the largest Q_l P of all bands

  // Identifies ring, primes, digits, secret distribution and scales; carried by every key and ciphertext.
  uint64_t fingerprint() const { return fingerprint_; }

  // "NAME: N = 2^16, log2(QP) = 1550 (Q .., P ..), ternary secret h = 192, 128-bit security": one line for reports.
  std::string describe() const;

 private:
  ParameterSpec spec_;
  Chain chain_;
  std::unique_ptr<const Ring> ring_;
  std::vector<double> scales_;
  uint64_t fingerprint_;
};

}  // namespace psm::ckks
