#include "ckks/bootstrap/two_pass_bootstrapper.h"

#include <cmath>
#include <utility>

#include "ckks/base/error.h"

namespace psm {
namespace {

const double kGain = std::ldexp(1.0, TwoPassBootstrapper::kResidueBits);
constexpr double kHeadroom = 32;  // of the scale at which both passes end

double fine_scale(const SparseBootstrapPlan& plan) {
  return kHeadroom * plan.context().scale(plan.output_level());
}

// 2^k a, at `level` and with exactly `scale`.
Ciphertext magnified(const Evaluator& evaluator, const Ciphertext& a, int level, double scale) {
  Ciphertext out = evaluator.multiply_scalar(evaluator.truncate_to_level(a, level), kGain, scale / a.scale);
  out.scale = scale;  // but for the last bit of the quotient
  return out;
}

}  // namespace

TwoPassBootstrapper::TwoPassBootstrapper(const Context& context, const Encoder& encoder, int slots)
    : sparse_(context, encoder, slots),
      recombination_(context, encoder,
                     std::vector{plan().recombination(fine_scale(plan()) / plan().repetitions())}),
      fine_recombination_(context, encoder, std::vector{plan().recombination(fine_scale(plan()) / kGain)}) {}

KeyRequest TwoPassBootstrapper::key_request() const {
  KeyRequest request = plan().key_request();
  sum().request_keys(plan().context(), plan().output_level(), request);
  return request;
}

Ciphertext TwoPassBootstrapper::apply(const Evaluator& evaluator, const Ciphertext& input) const {
  const Context& context = plan().context();
  const int level = entry_level();
  if (input.level() < level) {
    throw Error(message("a ciphertext at level ", input.level(),
                        " cannot be bootstrapped in two passes: they need ", level,
                        " levels; bootstrap earlier"));
  }
  Ciphertext y =
      sum().apply(evaluator, recombination_.apply(evaluator, sparse_.apply_parts(evaluator, input)));
  y.scale = fine_scale(plan());

  const double scale = context.scale(level - 1) * static_cast<double>(context.q(level));
  Ciphertext residue = magnified(evaluator, input, level, scale);
  evaluator.sub_inplace(residue, magnified(evaluator, y, level, scale));
  evaluator.rescale_inplace(residue);
  residue.scale = context.scale(level - 1);

  Ciphertext correction = fine_recombination_.apply(evaluator, sparse_.apply_parts(evaluator, residue));
  correction.scale = y.scale;
  evaluator.add_inplace(y, correction);
  return evaluator.drop_to_level(y, output_level());
}

}  // namespace psm
