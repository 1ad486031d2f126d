#include "ckks/bootstrap/bootstrapper.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/bootstrap/overflow.h"
#include "ckks/scheme/encoding/embedding.h"

namespace psm::ckks {
namespace {

// Butterflies in one factor where values repeat: more would cost more rotations than a level saves.
constexpr int kDownButterflies = 8, kUpButterflies = 4;

// Terms of a sum of the trace, and of its first one where keys have one digit.
constexpr int kSummed = 4, kRaisedSummed = 16;

int factor_count(int butterflies, int at_most, int least, int levels) {
  return std::min(std::max(least, (butterflies + at_most - 1) / at_most), levels);
}

// Baby steps for a factor with `span` diagonals: about as many giants as babies, and a power of two, which takes the
// fewest key switches.
int fewest_switches(int span) {
  int babies = 1;
  while (babies * babies < span) babies *= 2;
  return babies;
}
// Where keys are few or have one digit, by time: a giant step takes that of so many babies.
int least_time(int span, int giant) {
  const auto time = [&](int babies) { return (babies - 1) + giant * ((span + babies - 1) / babies - 1); };
  int babies = 1;
  while (time(2 * babies) < time(babies)) babies *= 2;
  return babies;
}
int least_time_hoisted(int span) { return least_time(span, 3); }
int least_time_raised(int span) { return least_time(span, 15); }

DftFactors on_slots(DftFactors factors, int slots) {
  for (DftFactor& factor : factors.factors) factor.matrix = factor.matrix.on_slots(slots);
  return factors;
}

// Each with first(span) or rest(span) baby steps, `span` the number of its diagonals.
std::vector<LinearTransform> in_steps(const DftFactors& factors, int (*first)(int span),
                                      int (*rest)(int span)) {
  std::vector<LinearTransform> out;
  for (const DftFactor& factor : factors.factors)
    out.push_back(
        baby_step_giant_step(factor.matrix, factor.step, (out.empty() ? first : rest)(factor.span)));
  return out;
}

// `first` in n slots, `second` in the n after them.
std::vector<Complex> halves(int n, Complex first, Complex second) {
  std::vector<Complex> out(n, first);
  out.resize(2 * static_cast<size_t>(n), second);
  return out;
}

// U of dft_factors.h, n x n, by columns.
std::vector<std::vector<Complex>> columns_of_u(int n) {
  std::vector<std::vector<Complex>> columns(n, std::vector<Complex>(n));
  int64_t power = 1;  // 5^j
  for (int j = 0; j < n; ++j, power = power * 5 % (4 * n))
    for (int k = 0; k < n; ++k) columns[k][j] = unit_root(power * k, 4 * n);
  return columns;
}

const Context& require_possible(const Context& context, const BootstrapKind& kind) {
  if (!kind.possible(static_cast<size_t>(context.slots()))) {
    throw Error(message("a sparse bootstrap of ", kind.text(), " of ", context.slots(),
                        "; possible are powers of two from ", BootstrapKind::kLeastPeriod,
                        " to half of them, and ", BootstrapKind::kLeastBlocks, " to ",
                        BootstrapKind::kMostBlocks, " blocks"));
  }
  if (kind.sparse() && context.spec().cts_levels < 2)
    throw Error(message("a sparse bootstrap takes two levels for CoeffsToSlots, and parameters '",
                        context.spec().name, "' have ", context.spec().cts_levels));
  return context;
}

// n: two real values are one complex number.
int log_slots_of(const Context& context, const BootstrapKind& kind) {
  if (!kind.sparse()) return context.log_n() - 1;
  return std::bit_width(kind.of_blocks() ? kind.blocks() / 2 : kind.period) - 1;
}

// 2 Re x, and 2 Im x if asked for.
std::vector<Ciphertext> divided(const Evaluator& evaluator, const Ciphertext& x, bool imaginary) {
  const Ciphertext conjugate = evaluator.conjugate(x);
  std::vector<Ciphertext> parts;
  parts.push_back(evaluator.add(x, conjugate));
  if (imaginary) parts.push_back(evaluator.multiply_by_i(evaluator.sub(x, conjugate), 3));  // -i (x - conj x)
  return parts;
}

}  // namespace

BootstrapPlan::BootstrapPlan(const Context& context, BootstrapKind kind)
    : context_(require_possible(context, kind)),
      kind_(kind),
      log_slots_(log_slots_of(context, kind)),
      eval_mod_(context) {
  if (kind.of_blocks()) {
    place_blocks();
  } else {
    place_factors();
  }
}

void BootstrapPlan::place_factors() {
  const ParameterSpec& spec = context_.spec();
  int down_levels = spec.stc_levels, up_levels = spec.cts_levels;
  if (kind_.sparse()) {
    down_levels = factor_count(log_slots_, kDownButterflies, 1, down_levels);
    up_levels = factor_count(log_slots_, kUpButterflies, 2, up_levels);
  }
  const std::vector<int> down_butterflies = kind_.sparse()
                                                ? split_butterflies(log_slots_, down_levels, false)
                                                : slots_to_coeffs_butterflies(log_slots_, down_levels);
  const auto baby_count = kind_.sparse() ? least_time_hoisted : fewest_switches;
  const DftFactors down = on_slots(slots_to_coeffs_factors(log_slots_, down_butterflies), context_.slots());
  DftFactors up = on_slots(
      coeffs_to_slots_factors(log_slots_, split_butterflies(log_slots_, up_levels, true)), context_.slots());
  if (kind_.sparse()) {
    DiagonalMatrix& last = up.factors.back().matrix;
    DiagonalMatrix rows(context_.slots(), 2 * slots());
    rows.add(0, halves(slots(), 1, Complex(0, -1)));
    last = rows.times(last);
  }
  pre_rotation_ = -(down.shift + up.shift);

  const auto entry = Level::at(down_levels);
  slots_to_coeffs_ =
      place(in_steps(down, baby_count, baby_count), context_, entry, lowering_scales(context_, entry));
  std::vector<LinearTransform> to_slots = in_steps(up, least_time_raised, baby_count);
  to_slots.front().from_ephemeral = true;
  coeffs_to_slots_ = place(std::move(to_slots), context_, context_.evalmod_level() + up_levels,
                           even_scales(raised_scale(), eval_mod_.input_scale(), up_levels));
}

void BootstrapPlan::place_blocks() {
  const int n = slots(), period = static_cast<int>(kind_.period), block = static_cast<int>(kind_.block);
  const std::vector<std::vector<Complex>> u = columns_of_u(n);  // u[k][j]
  DiagonalMatrix down(period, period), up(period, period);
  for (int m = 0; m < 2 * n; ++m) {
    std::vector<Complex> diagonal(period);
    for (int s = 0; s < period; ++s) {
      const int h = (s / block + m) % (2 * n);
      diagonal[s] = u[h % n][s % n] * (h < n ? Complex(1) : Complex(0, 1));
    }
    down.add(m * block, diagonal);
  }
  for (int m = 0; m < n; ++m) {
    std::vector<Complex> diagonal(period);
    for (int s = 0; s < period; ++s) {
      const int h = s / block;
      diagonal[s] =
          std::conj(u[h % n][(s + m) % n]) / static_cast<double>(n) * (h < n ? Complex(1) : Complex(0, -1));
    }
    up.add(m, diagonal);
  }
  const auto whole = [&](const DiagonalMatrix& matrix, int step, int span) {
    return baby_step_giant_step(matrix.on_slots(context_.slots()), step, least_time_hoisted(span));
  };
  const auto entry = Level::at(1), last = context_.evalmod_level() + 1;
  const std::vector<Scale> to_coeffs = lowering_scales(context_, entry),
                           to_slots = even_scales(raised_scale(), eval_mod_.input_scale(), 2);
  slots_to_coeffs_ = {place(whole(down, block, 2 * n), context_, entry, to_coeffs[0], to_coeffs[1])};
  coeffs_to_slots_ = {place(whole(up, 1, n), context_, last, to_slots[1], to_slots[2])};
}

// A rotation by half of the slots leaves the last factor as it is.
bool BootstrapPlan::joins_conjugation() const {
  const int period = kind_.of_blocks() ? static_cast<int>(kind_.period) : 2 * slots();
  return 2 * period <= context_.slots();
}

PlacedTransform BootstrapPlan::recombination(Recombine recombine) const {
  const int n = slots();
  const Level level = context_.compute_level();
  LinearTransform transform;
  // a u + rot_n(a u) for a = `first` in n slots and `second` in the n after them.
  const auto add = [&](int output, Complex first, Complex second) {
    transform.terms.push_back({.output = output, .weight = Plain(halves(n, first, second))});
    transform.terms.push_back({.output = output, .baby = n, .weight = Plain(halves(n, second, first))});
  };
  add(0, 1, recombine == Recombine::kWhole ? Complex(0, 1) : Complex(0));
  if (recombine == Recombine::kParts) {
    transform.outputs = 2;
    add(1, 0, 1);
  }
  return place(std::move(transform), context_, level, context_.scale(level), context_.scale(output_level()));
}

double BootstrapPlan::log2_rare_multiple() const {
  return log2_multiple_beyond(EvalMod::kExactUpTo, 1 / eval_mod_.polynomial().message_ratio(),
                              log_slots_ + 1);
}

std::vector<GaloisElement> BootstrapPlan::trace_step(int done, int most) const {
  const int count = joins_conjugation() ? repetitions() / 2 : repetitions();
  std::vector<GaloisElement> elements;
  for (int r = 0; r < std::min(most, count / done); ++r)
    elements.push_back(galois_element(context_, r * done * slots()));
  return elements;
}

std::vector<GaloisElement> BootstrapPlan::raised_sum() const {
  return kind_.of_blocks() ? trace_step(1, kRaisedSummed) : std::vector<GaloisElement>{};
}

// Sums of kSummed, whose rotations share a decomposition.
std::vector<std::vector<GaloisElement>> BootstrapPlan::trace() const {
  std::vector<std::vector<GaloisElement>> sums;
  int done = std::max(1, static_cast<int>(raised_sum().size()));
  for (std::vector<GaloisElement> next; (next = trace_step(done, kSummed)).size() > 1; sums.push_back(next))
    done *= static_cast<int>(next.size());
  return sums;
}

std::vector<GaloisElement> BootstrapPlan::last_sum() const {
  std::vector<GaloisElement> elements{galois_element(context_, 0), galois_element(context_, 0, true)};
  if (joins_conjugation()) {
    const int half = context_.slots() / 2;
    elements.push_back(galois_element(context_, half));
    elements.push_back(galois_element(context_, half, true));
  }
  return elements;
}

KeyRequest BootstrapPlan::key_request() const {
  KeyRequest request;
  request.need_galois(galois_element(context_, pre_rotation_), entry_level());
  request_keys(slots_to_coeffs_, context_, request);
  request_keys(coeffs_to_slots_, context_, request);
  for (const GaloisElement g : raised_sum()) request.need_raised(g, raised_level());
  for (const auto& elements : trace())
    for (const GaloisElement g : elements) request.need_galois(g, coeffs_to_slots_.back().level);
  for (const GaloisElement g : last_sum()) request.need_galois(g, context_.evalmod_level());
  eval_mod_.request_keys(request);
  if (has_recombination()) {
    const PlacedTransform last[] = {recombination(Recombine::kParts)};
    request_keys(last, context_, request);
  }
  return request;
}

Bootstrapper::Bootstrapper(const Context& context, const Encoder& encoder, BootstrapKind kind)
    : plan_(context, kind),
      slots_to_coeffs_(encode(context, encoder, plan_.slots_to_coeffs())),
      coeffs_to_slots_(encode(context, encoder, plan_.coeffs_to_slots())) {
  if (!plan_.has_recombination()) return;
  using Recombine = BootstrapPlan::Recombine;
  recombinations_ =
      encode(context, encoder,
             std::vector{plan_.recombination(Recombine::kWhole), plan_.recombination(Recombine::kReal),
                         plan_.recombination(Recombine::kParts)});
}

size_t Bootstrapper::bytes() const {
  size_t sum = 0;
  for (const auto* transforms : {&slots_to_coeffs_, &coeffs_to_slots_, &recombinations_})
    for (const EncodedTransform& transform : *transforms) sum += transform.bytes();
  return sum;
}

Ciphertext Bootstrapper::rescaled(const Evaluator& evaluator, const Ciphertext& raised) const {
  const Scale to = plan_.coeffs_to_slots().front().input_scale;
  const Scale before(before_rescale(to, plan_.context().q(raised.level())));
  Ciphertext x = evaluator.rescale(evaluator.multiply_scalar(raised, 1, Scale(before / raised.scale())));
  x.settle_scale(to);
  return x;
}

Ciphertext Bootstrapper::before_parts(const Evaluator& evaluator, const Ciphertext& input) const {
  const Level entry = plan_.entry_level();
  if (input.level() < entry) {
    throw Error(message("a ciphertext at level ", input.level(),
                        " cannot be bootstrapped: SlotsToCoeffs needs ", entry,
                        " levels; bootstrap earlier"));
  }
  Ciphertext x = evaluator.rotate(evaluator.drop_to_level(input, entry), plan_.pre_rotation());
  x = mod_raise(evaluator, apply_in_order(slots_to_coeffs_, evaluator, std::move(x)), plan_.raised_level());
  x.declare_scale(plan_.raised_scale());
  if (plan_.kind().of_blocks())
    x = rescaled(evaluator, evaluator.sum_galois(x, plan_.raised_sum(), /*raised=*/true));
  const std::span<const EncodedTransform> up = coeffs_to_slots_;
  x = apply_in_order(up.first(up.size() - 1), evaluator, std::move(x));
  for (const auto& elements : plan_.trace()) x = evaluator.sum_galois(x, elements);
  return up.back().apply(evaluator, x);
}

std::vector<Ciphertext> Bootstrapper::apply(const Evaluator& evaluator, const Ciphertext& input,
                                            BootstrapPlan::Recombine recombine) const {
  using Recombine = BootstrapPlan::Recombine;
  PSM_CHECK(recombine != Recombine::kParts || !plan_.kind().of_blocks(), "of blocks the real part alone");
  Ciphertext x = before_parts(evaluator, input);
  std::vector<Ciphertext> parts;
  if (plan_.kind().sparse()) {
    parts.push_back(plan_.eval_mod().apply(evaluator, evaluator.sum_galois(x, plan_.last_sum())));
    if (!plan_.has_recombination()) return parts;
    const Ciphertext* const inputs[] = {&parts[0]};
    return recombinations_[static_cast<size_t>(recombine)].apply(evaluator, inputs);
  }
  parts =
      divided(evaluator, std::exchange(x, {}), recombine != Recombine::kReal);  // EvalMod needs its memory
  for (Ciphertext& part : parts) part = plan_.eval_mod().apply(evaluator, std::move(part));
  if (recombine == Recombine::kWhole) {
    evaluator.add_inplace(parts[0], evaluator.multiply_by_i(parts[1]));
    parts.pop_back();
  }
  return parts;
}

std::vector<Ciphertext> Bootstrapper::parts(const Evaluator& evaluator, const Ciphertext& input) const {
  PSM_CHECK(!plan_.kind().sparse(), "steps are of a full bootstrap");
  return divided(evaluator, before_parts(evaluator, input), true);
}

BootstrapPlans plan_bootstraps(const Context& context, const std::set<BootstrapKind>& kinds) {
  BootstrapPlans plans;
  for (const BootstrapKind& kind : kinds)
    if (context.can_bootstrap() && kind.possible(static_cast<size_t>(context.slots())))
      plans.try_emplace(kind, context, kind);
  return plans;
}

Bootstrappers make_bootstrappers(const Context& context, const Encoder& encoder,
                                 const std::set<BootstrapKind>& kinds) {
  Bootstrappers bootstrappers;
  for (const BootstrapKind& kind : kinds) bootstrappers.try_emplace(kind, context, encoder, kind);
  return bootstrappers;
}

}  // namespace psm::ckks
