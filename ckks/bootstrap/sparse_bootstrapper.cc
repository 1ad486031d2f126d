#include "ckks/bootstrap/sparse_bootstrapper.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

// Butterflies in one factor: more would cost more rotations than a level saves.
constexpr int kDownButterflies = 8, kUpButterflies = 4;

int factor_count(int butterflies, int at_most, int least, int levels) {
  return std::min(std::max(least, (butterflies + at_most - 1) / at_most), levels);
}

// A giant step takes the time of three hoisted rotations.
int baby_count(int span) {
  const auto time = [&](int babies) { return (babies - 1) + 3 * ((span + babies - 1) / babies - 1); };
  int babies = 1;
  while (time(2 * babies) < time(babies)) babies *= 2;
  return babies;
}

DftFactors on_slots(DftFactors factors, int slots) {
  for (DftFactor& factor : factors.factors) factor.matrix = factor.matrix.on_slots(slots);
  return factors;
}

// `first` in n slots, `second` in the n after them.
std::vector<Complex> halves(int n, Complex first, Complex second) {
  std::vector<Complex> out(n, first);
  out.resize(2 * static_cast<size_t>(n), second);
  return out;
}

const Context& require_sparse(const Context& context, int slots) {
  if (slots < SparseBootstrapPlan::kLeastSlots || slots > context.slots() / 2 ||
      !std::has_single_bit(static_cast<unsigned>(slots))) {
    throw Error(message("a sparse bootstrap of ", slots, " slots; a power of two from ",
                        SparseBootstrapPlan::kLeastSlots, " to ", context.slots() / 2, " is possible"));
  }
  return context;
}

}  // namespace

SparseBootstrapPlan::SparseBootstrapPlan(const Context& context, int slots)
    : context_(require_sparse(context, slots)),
      log_slots_(std::bit_width(static_cast<unsigned>(slots)) - 1),
      eval_mod_(context) {
  const ParameterSpec& spec = context.spec();
  const int down_levels = factor_count(log_slots_, kDownButterflies, 1, spec.stc_levels);
  const int up_levels = factor_count(log_slots_, kUpButterflies, 2, spec.cts_levels);
  const DftFactors down =
      on_slots(slots_to_coeffs_factors(log_slots_, split_butterflies(log_slots_, down_levels, false)),
               context.slots());
  DftFactors up = on_slots(
      coeffs_to_slots_factors(log_slots_, split_butterflies(log_slots_, up_levels, true)), context.slots());
  DiagonalMatrix& last = up.factors.back().matrix;
  last = last.rows_scaled(halves(slots, 1, Complex(0, -1)));
  pre_rotation_ = -(down.shift + up.shift);

  const auto entry = Level::at(down_levels);
  slots_to_coeffs_ = place(down, context, entry, lowering_scales(context, entry), baby_count);
  coeffs_to_slots_ =
      place(up, context, context.evalmod_level() + up_levels,
            even_scales(Scale(eval_mod_.raised_scale() * repetitions()), eval_mod_.input_scale(), up_levels),
            baby_count);
}

PlacedTransform SparseBootstrapPlan::recombination(Recombine recombine) const {
  const int n = slots();
  const Level level = context_.compute_level();
  LinearTransform transform;
  // a u + rot_n(a u) for a = `first` in n slots and `second` in the n after them.
  const auto add = [&](int output, Complex first, Complex second) {
    transform.terms.push_back({.output = output, .weight = Plain(halves(n, first, second))});
    transform.terms.push_back({.output = output, .baby = n, .weight = Plain(halves(n, second, first))});
  };
  if (recombine == Recombine::kWhole) {
    add(0, 1, Complex(0, 1));
  } else {
    add(0, 1, 0);
  }
  if (recombine == Recombine::kParts) {
    transform.outputs = 2;
    add(1, 0, 1);
  }
  return place(std::move(transform), context_, level, context_.scale(level), context_.scale(output_level()));
}

RotationSum SparseBootstrapPlan::trace() const {
  return {slots(), joins_conjugation() ? repetitions() / 2 : repetitions()};
}

std::vector<GaloisElement> SparseBootstrapPlan::last_sum() const {
  std::vector<GaloisElement> elements{galois_element(context_, 0), galois_element(context_, 0, true)};
  if (joins_conjugation()) {
    const int half = context_.slots() / 2;
    elements.push_back(galois_element(context_, half));
    elements.push_back(galois_element(context_, half, true));
  }
  return elements;
}

KeyRequest SparseBootstrapPlan::key_request() const {
  KeyRequest request;
  request.need_galois(galois_element(context_, pre_rotation_), entry_level());
  request_keys(slots_to_coeffs_, context_, request);
  request_keys(coeffs_to_slots_, context_, request);
  trace().request_keys(context_, coeffs_to_slots_.back().level, request);
  for (const GaloisElement g : last_sum()) request.need_galois(g, context_.evalmod_level());
  eval_mod_.request_keys(request);
  request_keys(recombination(Recombine::kParts).schedule, context_.chain(), context_.compute_level(),
               request);
  request.encapsulation = true;
  return request;
}

BootstrapCost SparseBootstrapPlan::cost() const {
  BootstrapCost cost;
  add_cost(slots_to_coeffs_, cost);
  add_cost(coeffs_to_slots_, cost);
  const PlacedTransform last[] = {recombination(Recombine::kWhole)};
  add_cost(last, cost);
  cost.giant_rotations += 3;  // pre-rotation, to and from the ephemeral secret
  trace().add_cost(context_, cost);
  cost.hoisted_rotations += static_cast<int>(last_sum().size()) - 1;
  cost.relinearisations = eval_mod_.relinearisations();
  return cost;
}

SparseBootstrapper::SparseBootstrapper(const Context& context, const Encoder& encoder, int slots)
    : plan_(context, slots),
      slots_to_coeffs_(context, encoder, plan_.slots_to_coeffs()),
      coeffs_to_slots_(context, encoder,
                       std::span(plan_.coeffs_to_slots()).first(plan_.coeffs_to_slots().size() - 1)),
      last_to_slots_(context, encoder, std::span(plan_.coeffs_to_slots()).last(1)),
      whole_(encode(context, encoder, plan_.recombination(SparseBootstrapPlan::Recombine::kWhole))),
      real_(encode(context, encoder, plan_.recombination(SparseBootstrapPlan::Recombine::kReal))),
      parts_(encode(context, encoder, plan_.recombination(SparseBootstrapPlan::Recombine::kParts))) {}

size_t SparseBootstrapper::bytes() const {
  return slots_to_coeffs_.bytes() + coeffs_to_slots_.bytes() + last_to_slots_.bytes() + whole_.bytes() +
         real_.bytes() + parts_.bytes();
}

Ciphertext SparseBootstrapper::apply(const Evaluator& evaluator, const Ciphertext& input,
                                     std::vector<BootstrapStep>* steps) const {
  return std::move(run(evaluator, input, whole_, steps)[0]);
}

BootstrapParts SparseBootstrapper::apply_parts(const Evaluator& evaluator, const Ciphertext& input,
                                               std::vector<BootstrapStep>* steps) const {
  std::vector<Ciphertext> parts = run(evaluator, input, parts_, steps);
  return {std::move(parts[0]), std::move(parts[1])};
}

Ciphertext SparseBootstrapper::apply_real(const Evaluator& evaluator, const Ciphertext& input,
                                          std::vector<BootstrapStep>* steps) const {
  return std::move(run(evaluator, input, real_, steps)[0]);
}

std::vector<Ciphertext> SparseBootstrapper::run(const Evaluator& evaluator, const Ciphertext& input,
                                                const EncodedTransform& recombination,
                                                std::vector<BootstrapStep>* steps) const {
  StepClock clock(steps);
  const RaiseStage raise{plan_.entry_level(), plan_.pre_rotation(), plan_.raised_level(),
                         plan_.raised_scale()};
  Ciphertext x = raise.apply(evaluator, input, slots_to_coeffs_, clock);
  x = plan_.trace().apply(evaluator, coeffs_to_slots_.apply(evaluator, std::move(x)));
  x = evaluator.sum_galois(last_to_slots_.apply(evaluator, std::move(x)), plan_.last_sum());
  clock.finished("CoeffsToSlots");

  x = plan_.eval_mod().apply(evaluator, std::move(x));
  clock.finished("EvalMod");

  const Ciphertext* const parts[] = {&x};
  std::vector<Ciphertext> out = recombination.apply(evaluator, parts);
  clock.finished("Recombine");
  return out;
}

}  // namespace psm::ckks
