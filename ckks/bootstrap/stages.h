// What bootstraps are made of: transforms placed in the modulus chain, ModRaise, EvalMod.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/eval_mod.h"
#include "ckks/linalg/apply_transform.h"
#include "ckks/poly/evaluate_series.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::ckks {

// Throws Error if the context has no bootstrapping levels or they do not suffice.
const Context& require_bootstrappable(const Context& context);

// A linear transform with its place in the chain.
struct PlacedTransform {
  LinearTransform transform;
  TransformSchedule schedule;
  Level level;  // of its argument
  Scale input_scale, output_scale;
};
PlacedTransform place(LinearTransform transform, const Context& context, Level level, Scale input_scale,
                      Scale output_scale);
EncodedTransform encode(const Context& context, const Encoder& encoder, const PlacedTransform& placed);
// The factors of a transform, the first at `level`; `scales` before, between and after them. `baby_count`
// tells how many baby steps a factor of so many diagonals takes.
std::vector<PlacedTransform> place(const DftFactors& factors, const Context& context, Level level,
                                   std::span<const Scale> scales, int (*baby_count)(int span));

// The scale S_m at which a message enters ModRaise. EvalMod leaves the sine's error, which falls with the square of
// q_0 / S_m and follows the message's sign and size, so that sums of many slots do not average it away; roundings
// grow with q_0 / S_m. At the canonical S_0 and N = 2^16 the first is eight times the second (root mean squares
// 1.1e-6 and 1.3e-7 for uniform values), at S_0 / 2 they are equal: SlotsToCoeffs takes a bit from the message and
// EvalMod's gain brings it back, at no cost. Under a dense secret roundings are larger from the start, and S_m = S_0.
Scale lowered_scale(const Context& context);
// The stages of SlotsToCoeffs: the canonical scales of the levels from `from` down to 1, then S_m.
std::vector<Scale> lowering_scales(const Context& context, Level from);
// From one scale to another in equal ratios: then neither the diagonals lose bits to rounding, nor the last
// factors to the noise of key switches. Those between are rounded to floats, on which all machines agree.
std::vector<Scale> even_scales(Scale from, Scale to, int steps);

void request_keys(std::span<const PlacedTransform> transforms, const Context& context, KeyRequest& request);

// Transforms one after the other, their diagonals encoded.
class TransformChain {
 public:
  TransformChain(const Context& context, const Encoder& encoder, std::span<const PlacedTransform> transforms);
  Ciphertext apply(const Evaluator& evaluator, Ciphertext x) const;
  size_t bytes() const;

 private:
  std::vector<EncodedTransform> transforms_;
};

// What a bootstrap's precision rests on by chance. Every multiple of q_0 is removed (overflow.h), but one
// beyond `exact_up_to` less exactly: the real or imaginary part that it meets keeps `bits`.
struct RareMultiple {
  int exact_up_to = 0;
  double log2_probability = 0;  // that a bootstrap meets one, at most; -infinity where there is none
  double bits = 0;

  std::string text() const;
};

// EvalMod (eval_mod.h) in its place, evalmod_level down to compute_level. With t = m + q_0 I and |I| <= K, it
// takes t / (K' q_0), K' its half width, as the real part of every slot, to m / S_m: no constant costs a
// level. The result d ~ m / q_0 is computed at the scale gain * S_c, c the compute level; the same ciphertext read at the scale S_c
// holds gain * d ~ m / S_m.
class EvalModStage {
 public:
  explicit EvalModStage(const Context& context);

  const EvalMod& polynomial() const { return eval_mod_; }
  const SeriesPlan& series() const { return series_; }
  int relinearisations() const { return series_.relinearisations() + eval_mod_.spec().double_angles; }
  void request_keys(KeyRequest& request) const;
  // Declared after ModRaise, it makes slots of t / (2 K' q_0): EvalMod's argument is such a slot plus its
  // conjugate.
  Scale raised_scale() const;
  Scale input_scale() const { return series_.nodes[0].scale; }
  // For a bootstrap of 2^log_coefficients coefficients.
  RareMultiple rare_multiple(int log_coefficients) const;

  Ciphertext apply(const Evaluator& evaluator, Ciphertext x) const;

 private:
  const Context& context_;
  EvalMod eval_mod_;
  SeriesPlan series_;
};

// Level 0 -> `level`, by way of the ephemeral secret and of the highest level, for which its key is: m becomes
// m + q_0 I. Any scale.
Ciphertext mod_raise(const Evaluator& evaluator, const Ciphertext& x, Level level);

}  // namespace psm::ckks
