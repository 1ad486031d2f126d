// Bootstrapping: from entry_level back to output_level, the message unchanged.
//
//   1. SlotsToCoeffs  levels entry .. 0: the slots become coefficients, while limbs are few (StC first).
//   2. ModRaise       at level 0 to the ephemeral sparse secret (ePrint 2022/024), read modulo Q_L: m becomes
//                     m + q_0 I, |I| <= K with certainty (overflow.h).
//   3. CoeffsToSlots  the coefficients become slots, in the same (bit-reversed) order in which they left;
//                     real and imaginary part by one conjugation. The babies of its first factor lead back to the
//                     main secret: a key for each, of one digit, since both polynomials are integers below q_0. That
//                     saves a key switch and a decomposition at the top.
//   4. EvalMod        on both halves: q_0 I vanishes (eval_mod.h).
//   5. Recombine      re + i im.
//
// No constant costs a level. With t = m + q_0 I the raised ciphertext is declared to have scale 2 K' q_0, K'
// EvalMod's half width, so its slots after CoeffsToSlots are w / (2 K' q_0), and v + conj v =
// Re(w) / (K' q_0) is EvalMod's argument (stages.h).
//
// Message range: |re|, |im| <= 1 in every slot; beyond it the error grows like the cube.
// Error: the sine's 2^-21.3 at most (2^-19.3 under a dense secret), plus rounding noise (RESULTS.md has measurements).
// It is absolute.
//
// Few values (bootstrap_kind.h): n complex numbers, n a power of two from 4 to N/4, repeated with period n
// over the N/2 slots; or 2n real ones in blocks. One EvalMod and shorter transforms take about half of the
// full bootstrap's time, and blocks take less. Such a plaintext is a polynomial in Y = X^(N/2n): 2n of its N
// coefficients can differ from zero. What differs:
//
//   Projection     after ModRaise the trace, sum over r < N/2n of rot_{r n}. It multiplies polynomials in Y by N/2n
//                  and makes all other powers of X vanish, with their part of I. N/2n (m + q_0 I) is left, with the
//                  same |I| <= K. N/2n goes into the declared scale.
//   CoeffsToSlots  on n slots. The trace commutes with its diagonals, whose period divides n. It is taken before the
//                  last factor: there limbs are fewer than at the top, and numbers are larger than at the end, which
//                  matters because errors before the trace count (N/2n)^{1/2} times. With v the slots then, and a = 1
//                  in the first n of 2n slots and -i in the others (a factor of the last diagonals), a v + conj(a v)
//                  is 2 Re v next to 2 Im v. The trace's last doubling, a rotation by a multiple of 2n, shares a
//                  decomposition with the conjugation. There are at least two factors. The trace makes the scale
//                  N/2n times larger, and all factors together bring it down; one alone would lose bits.
//   EvalMod        once, on real and imaginary parts side by side in 2n slots.
//   Recombine      with b = 1 and i on the two halves, u -> b u + rot_n(b u) has period n again: a level. Or, with
//                  e = 1 and 0 on them, e u + rot_n(e u) is the real part, and with 0 and 1 the imaginary one.
//
// Blocks of b slots: v_h, h < 2n, in the slots s with floor(s / b) mod 2n = h, enter as the n complex numbers
// w_k = v_k + i v_{n+k}, and transforms read and write blocks. With U as in dft_factors.h and U^{-1} = U* / n,
//
//   SlotsToCoeffs  z_s = sum_h U[s mod n, h mod n] i^{[h >= n]} v_h: 2n diagonals, at multiples of b.
//   CoeffsToSlots  u_s = sum_j U^{-1}[h mod n, j] (-i)^{[h >= n]} z_j, h the block of s: n diagonals, at 0 .. n-1,
//                  behind a rescaling that brings down the scale. Before that, the first sum of the trace leads to the
//                  main secret: keys of one digit make it the cheapest, so it has the most terms. u + conj u is twice
//                  v_h in all of the block: EvalMod's result is the bootstrap's, at the compute level, without
//                  Recombine.
//
// If slots do not repeat with n, the result is their mean over the N/2n repetitions. If slots of a block are
// not equal, the result is a mixture of them. The union bound of overflow.h on rare, large I is over 2n
// coefficients instead of N.
//
// Only apply() needs keys. Thread-safe after construction; parallel inside.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "ckks/bootstrap/stages.h"
#include "ckks/scheme/chain/bootstrap_kind.h"

namespace psm::ckks {

// Levels, scales, transforms as data, and the keys needed: everything but encoded plaintexts.
class BootstrapPlan {
 public:
  // Throws Error if the context has no bootstrapping levels, or too few for this kind.
  explicit BootstrapPlan(const Context& context, BootstrapKind kind = {});

  const Context& context() const { return context_; }
  const BootstrapKind& kind() const { return kind_; }
  int slots() const { return 1 << log_slots_; }                       // n; all slots of a full one
  int repetitions() const { return context_.slots() >> log_slots_; }  // N/2n
  Level entry_level() const { return Level::at(static_cast<int>(slots_to_coeffs_.size())); }
  Level output_level() const { return context_.compute_level() - (has_recombination() ? 1 : 0); }
  Level raised_level() const {
    return coeffs_to_slots_.front().level + (kind_.of_blocks() ? 1 : 0);  // the rescaling
  }
  // log2 of the probability that a bootstrap meets a multiple of q_0 beyond EvalMod::kExactUpTo, at most (overflow.h).
  // It is removed like any other, but less exactly.
  double log2_rare_multiple() const;

  KeyRequest key_request() const;
  size_t key_bytes() const { return key_request().bytes(context_.chain()); }

  const std::vector<PlacedTransform>& slots_to_coeffs() const { return slots_to_coeffs_; }
  const std::vector<PlacedTransform>& coeffs_to_slots() const { return coeffs_to_slots_; }
  // The trace as sums over Galois elements, one after another: of blocks the first from the ephemeral secret (else
  // none), all others before the last factor of CoeffsToSlots. Its last doubling is left out if the period of that
  // factor allows to join it with the conjugation.
  std::vector<GaloisElement> raised_sum() const;
  std::vector<std::vector<GaloisElement>> trace() const;
  std::vector<GaloisElement> last_sum() const;
  // Recombine as a transform from the compute level to the output level: re + i im, the real part alone, or
  // both as two outputs. For values that repeat without blocks.
  enum class Recombine { kWhole, kReal, kParts };
  bool has_recombination() const { return kind_.sparse() && !kind_.of_blocks(); }
  PlacedTransform recombination(Recombine) const;
  // Makes all offsets of the factors one-sided (dft_factors.h).
  int pre_rotation() const { return pre_rotation_; }
  const EvalModStage& eval_mod() const { return eval_mod_; }
  Scale raised_scale() const { return Scale(eval_mod_.raised_scale() * repetitions()); }

 private:
  void place_factors();
  void place_blocks();
  bool joins_conjugation() const;
  // The next sum of the trace after sums of `done` terms in all; of one term at its end.
  std::vector<GaloisElement> trace_step(int done, int most) const;

  const Context& context_;
  BootstrapKind kind_;
  int log_slots_;
  EvalModStage eval_mod_;
  std::vector<PlacedTransform> slots_to_coeffs_, coeffs_to_slots_;
  int pre_rotation_ = 0;
};

class Bootstrapper {
 public:
  // Encodes the transforms' diagonals. Takes seconds and bytes() of memory, a few megabytes for few values.
  Bootstrapper(const Context& context, const Encoder& encoder, BootstrapKind kind = {});

  const BootstrapPlan& plan() const { return plan_; }
  size_t bytes() const;

  // Input: any level >= plan().entry_level(), at its canonical scale. Result: plan().output_level(),
  // canonical scale. Throws Error if a key is missing or the level is too low.
  Ciphertext apply(const Evaluator& evaluator, const Ciphertext& input) const {
    return std::move(apply(evaluator, input, BootstrapPlan::Recombine::kWhole)[0]);
  }
  // The same as a list. kReal is for slots that are known to be real; imaginary parts are lost, and a full
  // bootstrap takes one EvalMod instead of two. With kParts two real vectors a, b travel as a + i b and come
  // back apart. Blocks have the real part alone, and no kParts (PSM_CHECK).
  std::vector<Ciphertext> apply(const Evaluator& evaluator, const Ciphertext& input,
                                BootstrapPlan::Recombine) const;
  // Its first step, of a full one (PSM_CHECK): re and im at the level of EvalMod, each for plan().eval_mod().
  std::vector<Ciphertext> parts(const Evaluator& evaluator, const Ciphertext& input) const;

 private:
  Ciphertext rescaled(const Evaluator& evaluator, const Ciphertext& raised) const;  // of blocks
  // Up to CoeffsToSlots.
  Ciphertext before_parts(const Evaluator& evaluator, const Ciphertext& input) const;

  BootstrapPlan plan_;
  std::vector<EncodedTransform> slots_to_coeffs_, coeffs_to_slots_, recombinations_;  // the last by Recombine
};

// Plans by kind. Kinds that the ring cannot have are left out.
using BootstrapPlans = std::map<BootstrapKind, BootstrapPlan>;
using Bootstrappers = std::map<BootstrapKind, Bootstrapper>;
BootstrapPlans plan_bootstraps(const Context& context, const std::set<BootstrapKind>& kinds);
Bootstrappers make_bootstrappers(const Context& context, const Encoder& encoder,
                                 const std::set<BootstrapKind>& kinds);

}  // namespace psm::ckks
