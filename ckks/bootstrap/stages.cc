#include "ckks/bootstrap/stages.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// Throws Error if the context has no bootstrapping levels or they do not suffice.
const Context& require_bootstrappable(const Context& context) {
  if (!context.can_bootstrap()) {
    throw Error(message("parameters '", context.spec().name,
                        "' have no levels for bootstrapping: choose a bootstrappable set"));
  }
  // Parameters may come from a file: what the parts below take for granted is refused here.
  const ParameterSpec& spec = context.spec();
  // A factor of k butterflies has 2^(k+1) - 1 diagonals of N / 2 slots: with few levels they would fill any
  // memory.
  const int most = context.log_n() - 1, least_up = (most + kMostNotRepeating - 1) / kMostNotRepeating,
            least_down = 1 + (most - kMostNotRepeating + kMostRepeating - 1) / kMostRepeating;
  if (spec.stc_levels < least_down || spec.cts_levels < least_up ||
      std::max(spec.stc_levels, spec.cts_levels) > most) {
    throw Error(message("parameters '", spec.name, "' have ", spec.stc_levels,
                        " levels for SlotsToCoeffs and ", spec.cts_levels, " for CoeffsToSlots; from ",
                        least_down, " and from ", least_up, " to ", most, " are possible"));
  }
  if (spec.encapsulation_hamming_weight != EvalMod::kEphemeralWeight) {
    throw Error(message("parameters '", spec.name, "' have an ephemeral secret of weight ",
                        spec.encapsulation_hamming_weight, "; EvalMod is fitted for ",
                        EvalMod::kEphemeralWeight));
  }
  return context;
}

}  // namespace

PlacedTransform place(LinearTransform transform, const Context& context, Level level, Scale input_scale,
                      Scale output_scale) {
  TransformSchedule order = transform_schedule(transform, context.slots());
  return {std::move(transform), std::move(order), level, input_scale, output_scale};
}

std::vector<PlacedTransform> place(std::vector<LinearTransform> factors, const Context& context, Level level,
                                   std::span<const Scale> scales) {
  PSM_CHECK(scales.size() == factors.size() + 1, scales.size(), " scales");
  std::vector<PlacedTransform> out;
  for (size_t f = 0; f < factors.size(); ++f)
    out.push_back(
        place(std::move(factors[f]), context, level - static_cast<int>(f), scales[f], scales[f + 1]));
  return out;
}

Scale lowered_scale(const Context& context) {
  const bool sparse = context.spec().secret_hamming_weight > 0;
  return Scale(context.scale(0) / (sparse ? 2 : 1));
}

std::vector<Scale> lowering_scales(const Context& context, Level from) {
  std::vector<Scale> scales;
  for (Level level = from; level > 0; --level) scales.push_back(context.scale(level));
  scales.push_back(lowered_scale(context));
  return scales;
}

std::vector<Scale> even_scales(Scale from, Scale to, int steps) {
  std::vector<Scale> scales{from};
  for (int i = 1; i < steps; ++i)
    scales.push_back(Scale(static_cast<float>(from * std::pow(to / from, static_cast<double>(i) / steps))));
  scales.push_back(to);
  return scales;
}

void request_keys(std::span<const PlacedTransform> transforms, const Context& context, KeyRequest& request) {
  for (const PlacedTransform& t : transforms) request_keys(t.schedule, context.chain(), t.level, request);
}

std::vector<EncodedTransform> encode(const Context& context, const Encoder& encoder,
                                     std::span<const PlacedTransform> transforms) {
  std::vector<EncodedTransform> encoded;
  for (const PlacedTransform& t : transforms)
    encoded.emplace_back(context, encoder, t.transform, t.level, t.input_scale, t.output_scale);
  return encoded;
}

Ciphertext apply_in_order(std::span<const EncodedTransform> transforms, const Evaluator& evaluator,
                          Ciphertext x) {
  for (const EncodedTransform& transform : transforms) x = transform.apply(evaluator, x);
  return x;
}

EvalModStage::EvalModStage(const Context& context)
    : context_(require_bootstrappable(context)),
      eval_mod_(static_cast<double>(context.q(0)) / lowered_scale(context)) {
  const ParameterSpec& spec = context.spec();
  if (eval_mod_.depth() != spec.evalmod_levels) {
    throw Error(message("parameters '", spec.name, "' have ", spec.evalmod_levels,
                        " levels for EvalMod, which takes ", eval_mod_.depth()));
  }
  // d_r must come out with scale gain * S_c: square roots upwards give the scale of d_0.
  const Level last = context.compute_level();
  double scale = context.scale(last) * eval_mod_.output_gain();
  for (int k = 1; k <= EvalMod::kDoubleAngles; ++k) {
    scale = std::sqrt(scale * static_cast<double>(context.q(last + k)));
  }
  std::vector<uint64_t> primes;
  for (Level level = 0; level <= context.max_level(); ++level) primes.push_back(context.q(level));
  const Level first = context.evalmod_level();
  series_ = plan_series(eval_mod_.series(), first, context.scale(first), Scale(scale), primes);
}

void EvalModStage::request_keys(KeyRequest& request) const {
  for (const Level level : series_.relinearisation_levels()) request.need_relinearisation(level);
  for (int k = EvalMod::kDoubleAngles; k > 0; --k) {
    request.need_relinearisation(context_.compute_level() + k);
  }
}

Ciphertext EvalModStage::apply(const Evaluator& evaluator, Ciphertext x) const {
  evaluator.add_scalar_inplace(x, -EvalMod::kShift / eval_mod_.half_width());
  Ciphertext d = evaluate_series(evaluator, series_, x);
  for (const double lambda : EvalMod::kLambdas) {
    d = evaluator.multiply_rescale(d, d);
    evaluator.add_scalar_inplace(d, -lambda);
  }
  d.declare_scale(context_.scale(d.level()));
  return d;
}

Ciphertext mod_raise(const Evaluator& evaluator, const Ciphertext& x, Level level) {
  return evaluator.mod_raise(evaluator.switch_to_ephemeral(x), level);
}

}  // namespace psm::ckks
