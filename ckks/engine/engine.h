// Engine: twelve operations on whole polynomials. The evaluator, linear maps, series, bootstraps and
// encrypted programs do nothing else to residues. Levels, scales, keys, schedules and refusals are theirs; an
// engine knows bases and residues.
//
// Every operation is an exact function of residues in [0, q). So all engines give the same bits, whatever
// their order and fusion of steps (ckks/device/device_engine_test.cc).
//
// Polynomials are modulo Q_l, or modulo Q_l P if the comment says "extended", and in NTT form. Operands may
// have more limbs of q than a result; these are not read. A result must not alias an operand, unless the
// comment says so. sigma_g is X -> X^g; s is a rotation before its division by P (SwitchedSource).
//
// Thread-safe. Memory that operands borrow must live until the call returns.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "ckks/engine/operands.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/encoding/residue_maker.h"

namespace psm::ckks {

class Engine {
 public:
  using Pair = std::array<RnsPoly, 2>;

  explicit Engine(const Context& context) : context_(context) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  virtual ~Engine() = default;
  const Context& context() const { return context_; }

  // The memory of operands and results, keys and plaintexts included; null for the host's.
  virtual Memory* memory() const { return nullptr; }
  // Makes plaintexts in that memory, for an Encoder; null for the host's own.
  virtual const ResidueMaker* residue_maker() const { return nullptr; }

  // Returns when the results of all operations are there.
  virtual void wait() const {}

  // out_i = sum_t f_t a_{t,i}. out may be the polynomials of the first term.
  virtual void combine(std::span<RnsPoly> out, std::span<const Term> terms) const = 0;
  // out_i = a_i + z or z a_i; out_i = a_i + b or a_i b. out may be a.
  enum class Arithmetic { kAdd, kMultiply };
  virtual void with_constant(Arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                             GaussianInteger z) const = 0;
  virtual void with_plain(Arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                          const Plaintext& b) const = 0;

  // out_0 + out_1 s + out_2 s^2 = m sum_k (a_{k,0} + a_{k,1} s) (b_{k,0} + b_{k,1} s)
  //                               + sum_t f_t (c_{t,0} + c_{t,1} s),       m = 2 if `doubled`, else 1,
  // for several sums of one level. An engine may read a factor of many from memory once.
  struct Sum {
    std::span<RnsPoly> out;
    std::span<const Factors> factors;
    bool doubled = false;
    std::span<const Term> terms{};
  };
  virtual void multiply_sums(std::span<const Sum> sums) const = 0;

  // Takes the residues a_i modulo q_0 as integers in (-q_0/2, q_0/2), and reduces them modulo Q_level.
  virtual Pair raise(const std::array<RnsPoly, 2>& a, Level level) const = 0;
  // round(x_i / D), D the product of the primes that x has and `to` lacks: P, P q_l or q_l.
  virtual Pair divide(const std::array<RnsPoly, 2>& x, Basis to) const = 0;

  // d_i = [c]_{D_i} modulo Q_l and p_count special primes; c must outlive the result. A `raised` c, which raise() made,
  // is the one digit.
  virtual Digits decompose(const RnsPoly& c, int p_count, bool raised) const = 0;

  // sigma_g( round( (P a_0 + sum_i d_i b_i, P a_1 + sum_i d_i a_i) / D ) ), D = P, or P q_l with a rescaling,
  // for the digits of c or for digits at hand.
  Pair switch_key(const RnsPoly& c, const KeySwitchKey& key, const SwitchOptions& options) const {
    return switch_key(split(c, key.p_count), key, options);
  }
  virtual Pair switch_key(const Digits& digits, const KeySwitchKey& key,
                          const SwitchOptions& options) const = 0;
  // A giant step, extended: sigma_g( x_0 + sum_i d_i b_i, sum_i d_i a_i ) + y, d_i the digits of round(x_1 / P). Each
  // of x and y is extended, or modulo Q_l: then it counts P times. y may be null.
  virtual Pair giant_step(const Pair& x, const GaloisStep& step, const Pair* y) const = 0;

  // Extended: sum_k s_k.
  virtual Pair sum_switched(std::span<const SwitchedSource> sources) const = 0;
  // sums_a += sum_k w_{a,k} s_k for the weights of a block. Sums are extended if its basis is. If not, each
  // source must have g = 1, and its ciphertext is taken as it is. A sum without polynomials is made by the
  // first tile that writes it.
  virtual void add_weighted(std::vector<Pair>& sums, std::span<const SwitchedSource> sources,
                            const WeightBlock& block) const = 0;
  // round(w_k s_k / (P q_l)) for each k, one level lower.
  virtual std::vector<Pair> divide_weighted(std::span<const SwitchedSource> sources,
                                            std::span<const Plaintext* const> weights) const = 0;

 protected:
  const Ring& ring() const { return context_.ring(); }
  Basis extended_basis(Level level) const { return {level + 1, context_.p_count(level)}; }
  Pair make_pair(Basis basis) const {
    return {RnsPoly(ring(), basis, Form::kNtt, memory()), RnsPoly(ring(), basis, Form::kNtt, memory())};
  }

 private:
  // The digits for one key alone, whose extensions may be coefficients still.
  virtual Digits split(const RnsPoly& c, int p_count) const { return decompose(c, p_count, false); }

  const Context& context_;
};

}  // namespace psm::ckks
