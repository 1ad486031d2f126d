#include "ckks/bootstrap/bootstrapper.h"

#include <chrono>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/bootstrap/dft_factors.h"
#include "ckks/bootstrap/overflow.h"

namespace psm {
namespace {

// Below, the series of EvalMod has more coefficients than the points it is fitted on.
constexpr int kMinEphemeralWeight = 4;
constexpr double kMinMessageRatio = 8;  // EvalMod's own bound

const Context& require_bootstrappable(const Context& context) {
  if (!context.can_bootstrap()) {
    throw Error(message("parameters '", context.spec().name,
                        "' have no levels for bootstrapping: choose a bootstrappable set"));
  }
  // Parameters may come from a file: what the parts below take for granted is refused here.
  const ParameterSpec& spec = context.spec();
  const int most = context.log_n() - 1;
  if (spec.stc_levels < 1 || spec.stc_levels > most || spec.cts_levels > most) {
    throw Error(message("parameters '", spec.name, "' have ", spec.stc_levels,
                        " levels for SlotsToCoeffs and ", spec.cts_levels,
                        " for CoeffsToSlots; from 1 to ", most, " each are possible"));
  }
  if (spec.encapsulation_hamming_weight < kMinEphemeralWeight) {
    throw Error(message("parameters '", spec.name, "' have an ephemeral secret of weight ",
                        spec.encapsulation_hamming_weight, "; EvalMod is fitted from ", kMinEphemeralWeight,
                        " on"));
  }
  if (static_cast<double>(context.q(0)) <= kMinMessageRatio * context.scale(0)) {
    throw Error(message("parameters '", spec.name, "' have a q_0 of ", spec.q0_bits,
                        " bits for messages of scale 2^", spec.log_scale, "; EvalMod needs a ratio above ",
                        kMinMessageRatio));
  }
  return context;
}

EvalModSpec eval_mod_spec(const Context& context) {
  EvalModSpec spec;
  const int h = context.spec().encapsulation_hamming_weight;
  spec.k = h / 2;
  spec.summands = h + 1;
  spec.message_ratio = static_cast<double>(context.q(0)) / context.scale(0);
  return spec;
}

// Fewest key switches for a factor with `span` diagonals: about as many giants as babies, and a power of two.
int baby_count(int span) {
  int babies = 1;
  while (babies * babies < span) babies *= 2;
  return babies;
}

std::vector<BootstrapPlan::Transform> place(const DftFactors& factors, int level,
                                            const std::vector<double>& scales) {
  std::vector<BootstrapPlan::Transform> out;
  for (size_t f = 0; f < factors.factors.size(); ++f) {
    const DftFactor& factor = factors.factors[f];
    BootstrapPlan::Transform transform;
    transform.transform = baby_step_giant_step(factor.matrix, factor.step, baby_count(factor.span), true);
    transform.schedule = schedule(transform.transform);
    transform.level = level - static_cast<int>(f);
    transform.input_scale = scales[f];
    transform.output_scale = scales[f + 1];
    out.push_back(std::move(transform));
  }
  return out;
}

}  // namespace

BootstrapPlan::BootstrapPlan(const Context& context)
    : context_(require_bootstrappable(context)), eval_mod_(eval_mod_spec(context)) {
  const ParameterSpec& spec = context.spec();
  const int log_slots = context.log_n() - 1;
  if (eval_mod_.depth() != spec.evalmod_levels) {
    throw Error(message("parameters '", spec.name, "' have ", spec.evalmod_levels,
                        " levels for EvalMod, which takes ", eval_mod_.depth()));
  }

  const DftFactors down =
      slots_to_coeffs_factors(log_slots, split_butterflies(log_slots, spec.stc_levels, false));
  const DftFactors up =
      coeffs_to_slots_factors(log_slots, split_butterflies(log_slots, spec.cts_levels, true));
  pre_rotation_ = -(down.shift + up.shift);

  std::vector<double> down_scales;
  for (int level = entry_level(); level >= 0; --level) down_scales.push_back(context.scale(level));
  slots_to_coeffs_ = place(down, entry_level(), down_scales);

  // From 2 K q_0 to the first scale of EvalMod in equal ratios: then neither the diagonals lose bits to
  // rounding, nor the last factors to the noise of key switches.
  raised_scale_ = 2.0 * eval_mod_.spec().k * static_cast<double>(context.q(0));
  const double first = context.scale(context.evalmod_level());
  std::vector<double> up_scales;
  for (int f = 0; f <= spec.cts_levels; ++f) {
    const double scale =
        raised_scale_ * std::pow(first / raised_scale_, static_cast<double>(f) / spec.cts_levels);
    up_scales.push_back(f == 0 ? raised_scale_ : f == spec.cts_levels ? first : scale);
  }
  coeffs_to_slots_ = place(up, context.max_level(), up_scales);

  // d_r must come out with scale gain * S_c: square roots upwards give the scale of d_0.
  double scale = context.scale(output_level()) * eval_mod_.output_gain();
  for (int k = 1; k <= eval_mod_.spec().double_angles; ++k) {
    scale = std::sqrt(scale * static_cast<double>(context.q(output_level() + k)));
  }
  std::vector<uint64_t> primes;
  for (int level = 0; level <= context.max_level(); ++level) primes.push_back(context.q(level));
  series_ = plan_series(eval_mod_.series(), context.evalmod_level(), first, scale, primes);
}

double BootstrapPlan::log2_failure() const {
  return log2_overflow_probability(context_.spec().encapsulation_hamming_weight, eval_mod_.spec().k,
                                   1 / eval_mod_.spec().message_ratio, context_.log_n());
}

KeyRequest BootstrapPlan::key_request() const {
  KeyRequest request;
  request.need_galois(galois_element(context_, pre_rotation_), entry_level());
  for (const Transform& t : slots_to_coeffs_) request_keys(t.schedule, context_, t.level, request);
  for (const Transform& t : coeffs_to_slots_) request_keys(t.schedule, context_, t.level, request);
  request.need_galois(galois_element(context_, 0, true), context_.evalmod_level());
  request_keys(series_, request);
  for (int k = eval_mod_.spec().double_angles; k > 0; --k) request.need_relinearisation(output_level() + k);
  request.encapsulation = true;
  return request;
}

BootstrapCost BootstrapPlan::cost() const {
  BootstrapCost cost;
  for (const auto* transforms : {&slots_to_coeffs_, &coeffs_to_slots_}) {
    for (const Transform& t : *transforms) {
      cost.hoisted_rotations += t.schedule.hoisted_rotations();
      cost.giant_rotations += t.schedule.giant_rotations();
      cost.plaintext_products += static_cast<int>(t.transform.terms.size());
    }
  }
  cost.giant_rotations += 4;  // pre-rotation, to and from the ephemeral secret, conjugation
  cost.relinearisations = 2 * (series_.relinearisations() + eval_mod_.spec().double_angles);
  return cost;
}

Bootstrapper::Bootstrapper(const Context& context, const Encoder& encoder) : plan_(context) {
  const auto encode = [&](const std::vector<BootstrapPlan::Transform>& transforms, auto& out) {
    for (const BootstrapPlan::Transform& t : transforms) {
      out.push_back(std::make_unique<EncodedTransform>(context, encoder, t.transform, t.level, t.input_scale,
                                                       t.output_scale));
    }
  };
  encode(plan_.slots_to_coeffs(), slots_to_coeffs_);
  encode(plan_.coeffs_to_slots(), coeffs_to_slots_);
}

size_t Bootstrapper::bytes() const {
  size_t sum = 0;
  for (const auto& t : slots_to_coeffs_) sum += t->bytes();
  for (const auto& t : coeffs_to_slots_) sum += t->bytes();
  return sum;
}

Ciphertext Bootstrapper::eval_mod(const Evaluator& evaluator, const Ciphertext& x) const {
  Ciphertext d = evaluate_series(evaluator, plan_.series(), x);
  for (const double lambda : plan_.eval_mod().lambdas()) {
    d = evaluator.square_rescale(d);
    evaluator.add_scalar_inplace(d, -lambda);
  }
  return d;
}

Ciphertext Bootstrapper::apply(const Evaluator& evaluator, const Ciphertext& input,
                               std::vector<BootstrapStep>* steps) const {
  Parts parts = apply_parts(evaluator, input, steps);
  evaluator.add_inplace(parts.re, evaluator.multiply_by_i(parts.im));
  return std::move(parts.re);
}

Bootstrapper::Parts Bootstrapper::apply_parts(const Evaluator& evaluator, const Ciphertext& input,
                                              std::vector<BootstrapStep>* steps) const {
  return run(evaluator, input, steps, false);
}

Ciphertext Bootstrapper::apply_real(const Evaluator& evaluator, const Ciphertext& input,
                                    std::vector<BootstrapStep>* steps) const {
  return run(evaluator, input, steps, true).re;
}

Bootstrapper::Parts Bootstrapper::run(const Evaluator& evaluator, const Ciphertext& input,
                                      std::vector<BootstrapStep>* steps, bool real_only) const {
  const Context& context = plan_.context();
  if (input.level() < plan_.entry_level()) {
    throw Error(message("a ciphertext at level ", input.level(),
                        " cannot be bootstrapped: SlotsToCoeffs needs ", plan_.entry_level(),
                        " levels; bootstrap earlier"));
  }
  auto start = std::chrono::steady_clock::now();
  const auto finished = [&](const char* name) {
    const auto now = std::chrono::steady_clock::now();
    if (steps != nullptr) steps->push_back({name, std::chrono::duration<double>(now - start).count()});
    start = now;
  };

  Ciphertext x = evaluator.drop_to_level(input, plan_.entry_level());
  x = evaluator.rotate(x, plan_.pre_rotation());
  for (const auto& transform : slots_to_coeffs_) x = transform->apply(evaluator, x);
  finished("SlotsToCoeffs");

  x = evaluator.switch_to_ephemeral(x);
  x = evaluator.mod_raise(x);
  x = evaluator.switch_from_ephemeral(x);
  x.scale = plan_.raised_scale();
  finished("ModRaise");

  for (const auto& transform : coeffs_to_slots_) x = transform->apply(evaluator, x);
  const Ciphertext conjugate = evaluator.conjugate(x);
  Ciphertext re = evaluator.add(x, conjugate);
  Ciphertext im;
  if (!real_only) im = evaluator.multiply_by_i(evaluator.sub(x, conjugate), 3);  // -i (v - conj v) = 2 Im v
  finished("CoeffsToSlots");

  re = eval_mod(evaluator, re);
  if (!real_only) im = eval_mod(evaluator, im);
  finished("EvalMod");

  re.scale = im.scale = context.scale(plan_.output_level());
  return {std::move(re), std::move(im)};
}

}  // namespace psm
