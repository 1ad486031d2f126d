#include "ckks/bootstrap/bootstrapper.h"

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// Fewest key switches for a factor with `span` diagonals: about as many giants as babies, and a power of two.
int baby_count(int span) {
  int babies = 1;
  while (babies * babies < span) babies *= 2;
  return babies;
}

}  // namespace

BootstrapPlan::BootstrapPlan(const Context& context)
    : context_(require_bootstrappable(context)), eval_mod_(context) {
  const ParameterSpec& spec = context.spec();
  const int log_slots = context.log_n() - 1;
  const DftFactors down =
      slots_to_coeffs_factors(log_slots, slots_to_coeffs_butterflies(log_slots, spec.stc_levels));
  const DftFactors up =
      coeffs_to_slots_factors(log_slots, split_butterflies(log_slots, spec.cts_levels, true));
  pre_rotation_ = -(down.shift + up.shift);
  slots_to_coeffs_ = place(down, context, entry_level(), lowering_scales(context, entry_level()), baby_count);
  coeffs_to_slots_ =
      place(up, context, context.max_level(),
            even_scales(eval_mod_.raised_scale(), eval_mod_.input_scale(), spec.cts_levels), baby_count);
}

RareMultiple BootstrapPlan::rare_multiple() const { return eval_mod_.rare_multiple(context_.log_n()); }

KeyRequest BootstrapPlan::key_request() const {
  KeyRequest request;
  request.need_galois(galois_element(context_, pre_rotation_), entry_level());
  request_keys(slots_to_coeffs_, context_, request);
  request_keys(coeffs_to_slots_, context_, request);
  request.need_galois(galois_element(context_, 0, true), context_.evalmod_level());
  eval_mod_.request_keys(request);
  request.encapsulation = true;
  return request;
}

BootstrapCost BootstrapPlan::cost() const {
  BootstrapCost cost;
  add_cost(slots_to_coeffs_, cost);
  add_cost(coeffs_to_slots_, cost);
  cost.giant_rotations += 4;  // pre-rotation, to and from the ephemeral secret, conjugation
  cost.relinearisations = 2 * eval_mod_.relinearisations();
  return cost;
}

Bootstrapper::Bootstrapper(const Context& context, const Encoder& encoder)
    : plan_(context),
      slots_to_coeffs_(context, encoder, plan_.slots_to_coeffs()),
      coeffs_to_slots_(context, encoder, plan_.coeffs_to_slots()) {}

size_t Bootstrapper::bytes() const { return slots_to_coeffs_.bytes() + coeffs_to_slots_.bytes(); }

Ciphertext Bootstrapper::apply(const Evaluator& evaluator, const Ciphertext& input,
                               std::vector<BootstrapStep>* steps) const {
  BootstrapParts parts = apply_parts(evaluator, input, steps);
  evaluator.add_inplace(parts.re, evaluator.multiply_by_i(parts.im));
  return std::move(parts.re);
}

BootstrapParts Bootstrapper::apply_parts(const Evaluator& evaluator, const Ciphertext& input,
                                         std::vector<BootstrapStep>* steps) const {
  return run(evaluator, input, steps, false);
}

Ciphertext Bootstrapper::apply_real(const Evaluator& evaluator, const Ciphertext& input,
                                    std::vector<BootstrapStep>* steps) const {
  return run(evaluator, input, steps, true).re;
}

BootstrapParts Bootstrapper::run(const Evaluator& evaluator, const Ciphertext& input,
                                 std::vector<BootstrapStep>* steps, bool real_only) const {
  StepClock clock(steps);
  const RaiseStage raise{plan_.entry_level(), plan_.pre_rotation(), plan_.context().max_level(),
                         plan_.eval_mod().raised_scale()};
  Ciphertext x = raise.apply(evaluator, input, slots_to_coeffs_, clock);
  x = coeffs_to_slots_.apply(evaluator, std::move(x));
  Ciphertext conjugate = evaluator.conjugate(x);
  Ciphertext re = evaluator.add(x, conjugate);
  Ciphertext im;
  if (!real_only) im = evaluator.multiply_by_i(evaluator.sub(x, conjugate), 3);  // -i (v - conj v) = 2 Im v
  x = Ciphertext();                                                              // EvalMod needs their memory
  conjugate = Ciphertext();
  clock.finished("CoeffsToSlots");

  re = plan_.eval_mod().apply(evaluator, std::move(re));
  if (!real_only) im = plan_.eval_mod().apply(evaluator, std::move(im));
  clock.finished("EvalMod");
  return {std::move(re), std::move(im)};
}

}  // namespace psm::ckks
