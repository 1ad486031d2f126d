// The stages of bootstraps: transforms placed in the modulus chain, ModRaise, EvalMod.
#pragma once

#include <span>
#include <vector>

#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/eval_mod.h"
#include "ckks/linalg/apply_transform.h"
#include "ckks/poly/evaluate_series.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::ckks {

// A linear transform with its place in the chain.
struct PlacedTransform {
  LinearTransform transform;
  TransformSchedule schedule;
  Level level;  // of its argument
  Scale input_scale, output_scale;
};
PlacedTransform place(LinearTransform transform, const Context& context, Level level, Scale input_scale,
                      Scale output_scale);
// Places factors one after another, the first at `level`. `scales` are those before, between and after them.
std::vector<PlacedTransform> place(std::vector<LinearTransform> factors, const Context& context, Level level,
                                   std::span<const Scale> scales);

// The scale S_m at which a message enters ModRaise. The sine's error falls with the square of q_0 / S_m,
// while rounding errors grow with q_0 / S_m. The sine's error follows the message, so sums of many slots do
// not average it away. At the canonical S_0 and N = 2^16 it is eight times the rounding error (root mean
// squares 1.1e-6 and 1.3e-7 for uniform values). At S_0 / 2 they are equal: SlotsToCoeffs takes a bit from
// the message and EvalMod's gain restores it, at no cost. Under a dense secret rounding errors are larger,
// and S_m = S_0.
Scale lowered_scale(const Context& context);
// The stages of SlotsToCoeffs: the canonical scales of the levels from `from` down to 1, then S_m.
std::vector<Scale> lowering_scales(const Context& context, Level from);
// The scales between two in equal ratios. Then diagonals lose no bits to rounding, and the last factors none
// to the noise of key switches. Scales in between are rounded to floats, so all machines have the same.
std::vector<Scale> even_scales(Scale from, Scale to, int steps);

void request_keys(std::span<const PlacedTransform> transforms, const Context& context, KeyRequest& request);

std::vector<EncodedTransform> encode(const Context& context, const Encoder& encoder,
                                     std::span<const PlacedTransform> transforms);
// Applies transforms one after the other.
Ciphertext apply_in_order(std::span<const EncodedTransform> transforms, const Evaluator& evaluator,
                          Ciphertext x);

// EvalMod (eval_mod.h) in its place, from evalmod_level down to compute_level. With t = m + q_0 I, |I| <= K, and K'
// EvalMod's half width, it maps t / (K' q_0) in every (real) slot to m / S_m: the result d ~ m / q_0 is computed at the
// scale gain * S_c, c the compute level, and then read at the scale S_c, as gain * d ~ m / S_m.
class EvalModStage {
 public:
  explicit EvalModStage(const Context& context);

  const EvalMod& polynomial() const { return eval_mod_; }
  const SeriesPlan& series() const { return series_; }
  void request_keys(KeyRequest& request) const;
  // The scale to declare after ModRaise. It makes slots t / (2 K' q_0); a slot plus its conjugate is
  // EvalMod's argument.
  Scale raised_scale() const {
    return Scale(2 * eval_mod_.half_width() * static_cast<double>(context_.q(0)));
  }
  Scale input_scale() const { return series_.nodes[0].scale; }

  Ciphertext apply(const Evaluator& evaluator, Ciphertext x) const;

 private:
  const Context& context_;
  EvalMod eval_mod_;
  SeriesPlan series_;
};

// Raises level 0 to `level`, under the ephemeral secret: m becomes m + q_0 I. Any scale.
Ciphertext mod_raise(const Evaluator& evaluator, const Ciphertext& x, Level level);

}  // namespace psm::ckks
