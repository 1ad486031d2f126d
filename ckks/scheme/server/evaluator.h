// Evaluator: everything that can be done to ciphertexts without a secret.
//
// Notation: a ciphertext at level l is modulo Q_l = q_0 .. q_l and encrypts scale * m. Products are NOT
// rescaled: their scale is the product of the scales, and rescale() divides by q_l and goes down one level.
// With both operands at the canonical scale S_l, multiply + rescale gives exactly S_{l-1}
// (scheme/chain/context.h).
//
// Operands of different levels or scales, of other parameters or of another key pair, a level that does not
// exist, and a missing key throw psm::Error. Nothing is adjusted silently; drop_to_level() is the one way to
// bring operands together.
//
// Key switching (hybrid; ePrint 2019/688): textbook_key_switch.h has the equations. Hoisting: the digits d_i of
// a polynomial serve any number of rotations. Double hoisting: sums over several rotations are taken modulo Q_l P, P
// the product of the special primes, and divided once.
//
// An Engine (ckks/engine/engine.h) computes on residues. Levels, scales, keys and refusals are here.
//
// Thread-safety: all functions are const and may run concurrently.
#pragma once

#include <complex>
#include <memory>
#include <span>

#include "ckks/engine/engine.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/encoding/plaintext.h"
#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

// A product before relinearisation: c_0 + c_1 s + c_2 s^2. Sums of products share one relinearisation.
using ProductCiphertext = ScaledPolys<3>;

// A ciphertext, or an extended one: P times a ciphertext, modulo Q_level P, as a key switch leaves it before its
// division by P. Sums of these are divided once (double hoisting, ePrint 2020/1203). The scale is that after the
// division.
using Summand = ScaledPolys<2>;

class Evaluator {
 public:
  // On the processor.
  Evaluator(const Context& context, const EvaluationKeys& keys);
  // With an engine, which must outlive the evaluator. Keys and all operands must be in the engine's memory.
  Evaluator(const Engine& engine, const EvaluationKeys& keys);
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  const Context& context() const { return context_; }
  const EvaluationKeys& keys() const { return keys_; }
  const Engine& engine() const { return *engine_; }

  // ---- linear -------------------------------------------------------------------------------------------
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext sub(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext negate(const Ciphertext& a) const;
  void add_inplace(Ciphertext& a, const Ciphertext& b) const;

  Ciphertext add_plain(const Ciphertext& a, const Plaintext& b) const;
  // Adds the same complex number to every slot; no encoding, no level.
  Ciphertext add_scalar(const Ciphertext& a, std::complex<double> value) const;
  void add_scalar_inplace(Ciphertext& a, std::complex<double> value) const;

  // ---- products by plaintexts: scale = product, not rescaled --------------------------------------------
  Ciphertext multiply_plain(const Ciphertext& a, const Plaintext& b) const;
  // The scalar is rounded to a Gaussian integer at `scalar_scale`. The result has scale(a) * scalar_scale.
  // The default S_{l-1} q_l / scale(a) makes the rescaled product canonical.
  Ciphertext multiply_scalar(const Ciphertext& a, std::complex<double> value, Scale scalar_scale = {}) const;
  // Every slot times i^power, exact: the monomial X^(power N/2).
  Ciphertext multiply_by_i(const Ciphertext& a, int power = 1) const;

  // ---- products of ciphertexts: scale = product, not rescaled -------------------------------------------
  Ciphertext multiply(const Ciphertext& a, const Ciphertext& b) const;  // relinearised
  // sum_k a_k * b_k. The scales of all products must be exactly equal. The sum needs one relinearisation, and
  // each factor is read once.
  ProductCiphertext sum_of_products(std::span<const Factors> factors) const;
  // Several sums of one level, which may share factors: together they are read from memory less often.
  std::vector<ProductCiphertext> sums_of_products(std::span<const std::vector<Factors>> sums) const;
  Ciphertext relinearise(const ProductCiphertext& a, bool rescale = false) const;
  // relinearise + rescale in one division by P q_l.
  Ciphertext relinearise_rescale(const ProductCiphertext& a) const { return relinearise(a, true); }
  // multiply + relinearise + rescale, the usual way to multiply.
  Ciphertext multiply_rescale(const Ciphertext& a, const Ciphertext& b) const;

  // ---- levels -------------------------------------------------------------------------------------------
  // Divides a ciphertext by q_l, and an extended one by P q_l.
  Ciphertext rescale(const Summand& a) const;
  // Lowers a ciphertext of any scale to level `target` and its canonical scale. Limbs are dropped down to
  // target + 1, a scalar product sets the scale, and a rescale follows. Returns a copy if nothing is to do.
  Ciphertext drop_to_level(const Ciphertext& a, Level target) const;
  // Drops limbs and keeps the scale as it is.
  Ciphertext truncate_to_level(const Ciphertext& a, Level target) const;

  // ---- rotations ----------------------------------------------------------------------------------------
  Ciphertext rotate(const Ciphertext& a, int offset) const;  // slot s of the result = slot s + offset of a
  Ciphertext conjugate(const Ciphertext& a) const;
  Ciphertext apply_galois(const Ciphertext& a, GaloisElement g) const;

  // `a` must outlive the result. Here and below, a `raised` one is what mod_raise() leaves, under the ephemeral secret.
  Hoisted hoist(const Ciphertext& a, bool raised = false) const;
  Ciphertext apply_galois(const Hoisted& a, GaloisElement g) const;
  Ciphertext rotate(const Hoisted& a, int offset) const;

  // sum_g sigma_g(a), under the secret of the key pair, with one decomposition and one division by P for all of them.
  // g = 1 needs no key, unless `a` is raised.
  Ciphertext sum_galois(const Ciphertext& a, std::span<const GaloisElement> elements,
                        bool raised = false) const;

  // ---- double hoisting ----------------------------------------------------------------------------------
  // The form of a rotation that engines take. Throws Error without a key.
  GaloisStep galois_step(GaloisElement g, Level level, bool raised = false) const;
  // A giant step: sigma_g(a) + b, extended; g != 1, and b may be null. c_1 of `a` is switched, after a division by P if
  // it is extended; c_0 stays as it is.
  Summand giant_step(const Summand& a, GaloisElement g, const Summand* b) const;

  // ---- around ModRaise ----------------------------------------------------------------------------------
  // At level 0: to the ephemeral secret (key to_ephemeral).
  Ciphertext switch_to_ephemeral(const Ciphertext& a) const;
  // Reads the same residues modulo Q_level, which adds q_0 I to the message. Level 0 -> level; the scale is
  // unchanged.
  Ciphertext mod_raise(const Ciphertext& a, Level level) const;
  // Brings such a ciphertext back to the secret of the key pair. A key from the ephemeral secret has one digit: the
  // raised c_1 is an integer below q_0, so that c_1 e / P is small.
  Ciphertext switch_from_ephemeral(const Ciphertext& raised) const {
    const GaloisElement one = 1;
    return sum_galois(raised, {&one, 1}, true);
  }

  // Returns the key that serves `level`. Throws Error, which names it, if there is none.
  const KeySwitchKey& require_key(KeyRole role, GaloisElement element, Level level) const;

 private:
  void check_keys() const;

  const Context& context_;
  const EvaluationKeys& keys_;
  std::unique_ptr<const Engine> own_engine_;
  const Engine* engine_;
};

}  // namespace psm::ckks
