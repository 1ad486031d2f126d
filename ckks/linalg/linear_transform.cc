#include "ckks/linalg/linear_transform.h"

#include <algorithm>
#include <set>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

int signed_offset(int offset, int slots) {
  offset &= slots - 1;
  return offset > slots / 2 ? offset - slots : offset;
}

template <typename T>
int index_of(const std::vector<T>& sorted, const T& value) {
  return static_cast<int>(std::lower_bound(sorted.begin(), sorted.end(), value) - sorted.begin());
}

}  // namespace

std::vector<std::vector<Complex>> LinearTransform::apply(std::span<const std::vector<Complex>> inputs) const {
  const size_t slots = inputs[0].size(), mask = slots - 1;
  std::vector<std::vector<Complex>> out(outputs, std::vector<Complex>(slots));
  for (const TransformTerm& term : terms) {
    const std::vector<Complex>& x = inputs[term.input];
    const PlainValues weight = term.weight.values();
    for (size_t s = 0; s < slots; ++s) {
      const size_t inner = s + static_cast<size_t>(term.giant);
      const Complex value = x[(inner + term.baby) & mask];
      out[term.output][s] +=
          weight[inner & (weight.size() - 1)] * (term.conjugate ? std::conj(value) : value);
    }
  }
  return out;
}

Sha256::Digest same_encoding(const LinearTransform& transform) {
  Sha256 sum;
  sum.update(&transform.divides_sources, sizeof(bool));
  for (const TransformTerm& term : transform.terms) {
    const int places[] = {term.output, term.giant, term.input, term.baby, term.conjugate};
    // Shapes without data are never shared: the term itself tells them apart.
    Plain::Identity data{&term, 0};
    if (term.weight.has_data()) data = term.weight.identity();
    sum.update(places, sizeof places);
    sum.update(&data.first, sizeof data.first), sum.update(&data.second, sizeof data.second);
  }
  return sum.digest();
}

LinearTransform baby_step_giant_step(const DiagonalMatrix& matrix, int step, int baby_count) {
  PSM_CHECK(step >= 1 && baby_count >= 1);
  LinearTransform out;
  for (const auto& [offset, diagonal] : matrix.diagonals()) {
    PSM_CHECK(offset % step == 0, "offset ", offset, " is no multiple of ", step);
    TransformTerm term;
    term.baby = offset / step % baby_count * step;
    term.giant = offset - term.baby;
    // d . rot_{g+b}(x) = rot_g( rot_{-g}(d) . rot_b(x) ).
    const int mask = matrix.period() - 1;
    std::vector<Complex> weight(matrix.period());
    for (int j = 0; j <= mask; ++j) weight[j] = diagonal[(j - term.giant) & mask];
    term.weight = Plain(std::move(weight));
    out.terms.push_back(std::move(term));
  }
  return out;
}

TransformSchedule transform_schedule(const LinearTransform& transform, size_t slots) {
  std::set<TransformSchedule::Source> sources;
  std::set<TransformSchedule::Accumulator> accumulators;
  const auto source_of = [&](const TransformTerm& term) {
    return TransformSchedule::Source{term.input, signed_offset(term.baby, static_cast<int>(slots)),
                                     term.conjugate};
  };
  const auto accumulator_of = [&](const TransformTerm& term) {
    return TransformSchedule::Accumulator{term.output, term.giant};
  };
  for (const TransformTerm& term : transform.terms) {
    PSM_CHECK(term.output >= 0 && term.output < transform.outputs, "output ", term.output);
    sources.insert(source_of(term));
    accumulators.insert(accumulator_of(term));
  }
  // Every chain of giants ends at 0, which therefore exists even where no term has it.
  for (int o = 0; o < transform.outputs; ++o) accumulators.insert({o, 0});

  TransformSchedule out;
  out.sources.assign(sources.begin(), sources.end());
  out.accumulators.assign(accumulators.begin(), accumulators.end());
  for (const TransformTerm& term : transform.terms) {
    out.term_source.push_back(index_of(out.sources, source_of(term)));
    out.term_accumulator.push_back(index_of(out.accumulators, accumulator_of(term)));
  }
  for (int o = 0; o < transform.outputs; ++o) {
    const int zero = index_of(out.accumulators, {o, 0});
    int first = zero, last = zero;
    while (first > 0 && out.accumulators[first - 1].output == o) --first;
    while (last + 1 < static_cast<int>(out.accumulators.size()) && out.accumulators[last + 1].output == o)
      ++last;
    const auto giant = [&](int i) { return out.accumulators[i].giant; };
    for (int i = last; i > zero; --i) out.steps.push_back({i, i - 1, giant(i) - giant(i - 1)});
    for (int i = first; i < zero; ++i) out.steps.push_back({i, i + 1, giant(i) - giant(i + 1)});
    out.results.push_back(zero);
  }
  out.counts = {.sources = static_cast<int>(out.sources.size()),
                .giant_rotations = static_cast<int>(out.steps.size()),
                .outputs = transform.outputs,
                .divides_sources = transform.divides_sources,
                .from_ephemeral = transform.from_ephemeral};
  std::vector<char> has_sum(out.accumulators.size(), 0), is_stepped = has_sum;
  for (int accumulator : out.term_accumulator) has_sum[accumulator] = 1;
  for (const TransformSchedule::GiantStep& step : out.steps) {
    out.counts.chained_steps += is_stepped[step.from];
    out.counts.meetings += has_sum[step.to];
    out.counts.chained_meetings += is_stepped[step.to];
    has_sum[step.to] = is_stepped[step.to] = 1;
  }
  for (const int result : out.results) out.counts.stepped_outputs += is_stepped[result];
  PSM_CHECK(!transform.divides_sources || !transform.from_ephemeral);
  std::set<int> hoisted;
  for (const TransformSchedule::Source& source : out.sources) {
    out.counts.hoisted_rotations += source.rotated();
    if (out.has_key(source)) hoisted.insert(source.input);
  }
  out.counts.hoisted_inputs = static_cast<int>(hoisted.size());
  for (const TransformTerm& term : transform.terms)
    ++(term.weight.period() == slots ? out.counts.full_terms : out.counts.periodic_terms);
  return out;
}

Basis weight_basis(const LinearTransform& transform, const Chain& chain, Level level) {
  return {level + 1, transform.divides_sources ? 0 : chain.special_primes(level)};
}

void request_keys(const TransformSchedule& schedule, const Chain& chain, Level level, KeyRequest& request) {
  for (const TransformSchedule::Source& source : schedule.sources) {
    const GaloisElement g = galois_element(chain, source.baby, source.conjugate);
    if (schedule.counts.from_ephemeral) {
      request.need_raised(g, level);
    } else {
      request.need_galois(g, level);
    }
  }
  for (const TransformSchedule::GiantStep& step : schedule.steps) {
    request.need_galois(galois_element(chain, step.by), level);
  }
}

}  // namespace psm::ckks
