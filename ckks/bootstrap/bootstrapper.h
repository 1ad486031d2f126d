// Bootstrapping of N/2 complex slots: from entry_level back to compute_level, the message unchanged.
//
//   1. SlotsToCoeffs  levels entry .. 0: the slots become coefficients, while limbs are few (StC first).
//   2. ModRaise       at level 0 to the ephemeral sparse secret (ePrint 2022/024), read modulo Q_L, back to
//                     the main secret: m becomes m + q_0 I, |I| <= K with certainty (overflow.h).
//   3. CoeffsToSlots  the coefficients become slots, in the same (bit-reversed) order in which they left;
//                     real and imaginary part by one conjugation.
//   4. EvalMod        on both halves: q_0 I vanishes (eval_mod.h).
//   5. Recombine      re + i im.
//
// No constant costs a level. With t = m + q_0 I the raised ciphertext is declared to have scale 2 K' q_0, K'
// EvalMod's half width, so its slots after CoeffsToSlots are w / (2 K' q_0), and v + conj v =
// Re(w) / (K' q_0) is EvalMod's argument (stages.h).
//
// Message range: |re|, |im| <= 1 in every slot; beyond it the error grows like the cube.
// Error: the sine's 2^-19.3 at most, plus rounding noise (RESULTS.md has measurements). It is absolute.
//
// Everything but apply() is known before any key exists. Thread-safe after construction; parallel inside.
#pragma once

#include <vector>

#include "ckks/bootstrap/stages.h"

namespace psm::ckks {

// Levels, scales, transforms as data, keys: everything that needs no encoded plaintext.
class BootstrapPlan {
 public:
  // Throws Error if the context has no bootstrapping levels or they do not suffice.
  explicit BootstrapPlan(const Context& context);

  const Context& context() const { return context_; }
  Level entry_level() const { return context_.entry_level(); }
  Level output_level() const { return context_.compute_level(); }
  RareMultiple rare_multiple() const;

  KeyRequest key_request() const;
  size_t key_bytes() const { return key_request().bytes(context_.chain()); }
  BootstrapCost cost() const;

  const std::vector<PlacedTransform>& slots_to_coeffs() const { return slots_to_coeffs_; }
  const std::vector<PlacedTransform>& coeffs_to_slots() const { return coeffs_to_slots_; }
  int pre_rotation() const {
    return pre_rotation_;
  }  // makes all offsets of the factors one-sided (dft_factors.h)
  const EvalModStage& eval_mod() const { return eval_mod_; }

 private:
  const Context& context_;
  EvalModStage eval_mod_;
  std::vector<PlacedTransform> slots_to_coeffs_, coeffs_to_slots_;
  int pre_rotation_ = 0;
};

class Bootstrapper {
 public:
  // Encodes the transforms' diagonals (seconds, bytes() of memory).
  Bootstrapper(const Context& context, const Encoder& encoder);

  const BootstrapPlan& plan() const { return plan_; }
  size_t bytes() const;

  // Input: any level >= entry_level, at its canonical scale. Result: compute_level, canonical scale. Throws
  // Error where a key is missing or the level is too low. `steps`, if given, receives the time of each step.
  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& input,
                   std::vector<BootstrapStep>* steps = nullptr) const;

  // Two real vectors a, b travel as a + i b at the price of one. Only the recombination is left out.
  BootstrapParts apply_parts(const Evaluator& evaluator, const Ciphertext& input,
                             std::vector<BootstrapStep>* steps = nullptr) const;
  // For slots that are known to be real: one EvalMod instead of two. What the imaginary parts held is lost.
  Ciphertext apply_real(const Evaluator& evaluator, const Ciphertext& input,
                        std::vector<BootstrapStep>* steps = nullptr) const;

 private:
  BootstrapParts run(const Evaluator& evaluator, const Ciphertext& input, std::vector<BootstrapStep>* steps,
                     bool real_only) const;

  BootstrapPlan plan_;
  TransformChain slots_to_coeffs_, coeffs_to_slots_;
};

}  // namespace psm::ckks
