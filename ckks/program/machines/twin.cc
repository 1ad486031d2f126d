#include "ckks/program/machines/twin.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"
#include "ckks/program/plan.h"

namespace psm::program {
namespace {

// Slots are worked on in blocks of fixed size, so that sums do not depend on the number of threads.
constexpr size_t kBlock = 1024;

template <typename Body>
void for_blocks(size_t slots, const Body& body) {
  const size_t blocks = (slots + kBlock - 1) / kBlock;
  parallel_for(0, blocks,
               [&](size_t block) { body(block, block * kBlock, std::min(slots, (block + 1) * kBlock)); });
}

// Terms of a map, and their weights, that are read at a time.
constexpr size_t kTermsAtOnce = 64, kWeightsAtOnce = size_t{1} << 18;

template <typename Body>
void for_slots(size_t slots, const Body& body) {
  for_blocks(slots, [&](size_t, size_t begin, size_t end) {
    for (size_t s = begin; s < end; ++s) body(s);
  });
}

// Written out for linear maps, most of the work, because the library's product looks for infinities.
inline ckks::Complex product(ckks::Complex a, ckks::Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

// Slots that a linear map works on at a time, and how many such stretches, one period apart, have the same weights.
constexpr size_t kStretch = 4, kRows = 4;

// What a term of a map does to a stretch of slots: out += own x + other y, part by part, for w x or w conj(x); y is x with
// its parts exchanged.
struct StretchTerm {
  const ckks::Complex* x;  // all slots, and the first ones again
  size_t from;             // where the stretch begins
  ckks::Complex own[kStretch]{}, other[kStretch]{};

  // False if nothing but zeros is multiplied.
  bool set(size_t slot, ckks::Complex w, bool conjugate) {
    own[slot] = {w.real(), conjugate ? -w.real() : w.real()};
    other[slot] = {conjugate ? w.imag() : -w.imag(), w.imag()};
    return w != 0.0;
  }
};

// The loops of linear maps, compiled for wider vectors too where the processor has them: the same operations, so the same
// bits.
#if defined(__x86_64__) && !defined(__clang__)  // Clang 16 leaves constructors that clones call undefined.
#define PSM_WIDER_VECTORS [[gnu::target_clones("avx512f", "avx2", "default")]]
#else
#define PSM_WIDER_VECTORS
#endif

// Adds all terms to so many stretches, `period` slots apart; the first of them begins `at` slots behind that of the terms.
template <size_t kCount>
[[gnu::always_inline]] inline void add_products(ckks::Complex* out, std::span<const StretchTerm> terms,
                                                size_t at, size_t period, size_t slots) {
  using Parts [[gnu::vector_size(kStretch * sizeof(ckks::Complex))]] = double;
  Parts sums[kCount], own, other, x;
  for (size_t row = 0; row < kCount; ++row) __builtin_memcpy(&sums[row], out + row * period, sizeof(Parts));
  for (const StretchTerm& term : terms) {
    __builtin_memcpy(&own, term.own, sizeof(Parts));
    __builtin_memcpy(&other, term.other, sizeof(Parts));
    for (size_t row = 0; row < kCount; ++row) {
      __builtin_memcpy(&x, term.x + ((term.from + at + row * period) & (slots - 1)), sizeof(Parts));
      sums[row] += own * x + other * __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
    }
  }
  for (size_t row = 0; row < kCount; ++row)
    __builtin_memcpy(static_cast<void*>(out + row * period), &sums[row], sizeof(Parts));
}
PSM_WIDER_VECTORS void add_to_rows(ckks::Complex* out, std::span<const StretchTerm> terms, size_t at,
                                   size_t period, size_t slots) {
  add_products<kRows>(out, terms, at, period, slots);
}
PSM_WIDER_VECTORS void add_to_row(ckks::Complex* out, std::span<const StretchTerm> terms, size_t at,
                                  size_t slots) {
  add_products<1>(out, terms, at, 0, slots);
}

// A number that looks random, of a key's own.
uint64_t mix(uint64_t key) { return TrainingRandom::resume(key).next_u64(); }

// A pair of independent numbers of variance 1 that depends on its key alone: 64 fair coins each, all but normal.
ckks::Complex normal_pair(uint64_t key) {
  const auto coins = [](uint64_t word) { return (std::popcount(word) - 32) / 4.0; };
  return {coins(mix(key)), coins(mix(~key))};
}

Observation observe_slots(const SlotVector& x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr Observation kNothing{0, kInfinity, -kInfinity, kInfinity, -kInfinity, 0};
  // Until the end max_abs is a largest square, and rms a sum of squares.
  const auto join = [](Observation& all, const Observation& more) {
    all.max_abs = std::max(all.max_abs, more.max_abs), all.rms += more.rms;
    all.min_re = std::min(all.min_re, more.min_re), all.max_re = std::max(all.max_re, more.max_re);
    all.min_im = std::min(all.min_im, more.min_im), all.max_im = std::max(all.max_im, more.max_im);
  };
  std::vector<Observation> parts((x.size() + kBlock - 1) / kBlock);
  for_blocks(x.size(), [&](size_t block, size_t begin, size_t end) {
    Observation part = kNothing;
    for (size_t s = begin; s < end; ++s) {
      const double re = x[s].real(), im = x[s].imag(), norm = re * re + im * im;
      join(part, {norm, re, re, im, im, norm});
    }
    parts[block] = part;
  });
  Observation all = kNothing;
  for (const Observation& part : parts) join(all, part);
  // A sum of squares is finite only if all of them are.
  all.max_abs = std::isfinite(all.rms) ? std::sqrt(all.max_abs) : std::numeric_limits<double>::quiet_NaN();
  all.rms = std::sqrt(all.rms / static_cast<double>(x.size()));
  return all;
}

class Twin {
 public:
  Twin(const Program& program, const TwinOptions& options)
      : program_(program), options_(options), values_(program.values.size()), last_uses_(last_uses(program)) {
    result_.observations.resize(values_.size());
    checks_of_.resize(values_.size());
    for (const RangeCheck& check : program.checks) checks_of_[id(check.value)].push_back(&check);
  }

  void load(const std::map<std::string, SlotVector>& inputs) {
    for (const NamedValue& input : program_.inputs) {
      const auto found = inputs.find(input.name);
      if (found == inputs.end())
        throw Error(message("input '", input.name, "' is missing; give it ", program_.slots, " slots"));
      if (found->second.size() != program_.slots)
        throw Error(message("input '", input.name, "' has ", found->second.size(), " slots but the program ",
                            program_.slots, "; pad or repeat it"));
      const size_t mask = program_.values[id(input.value)].period - 1;
      for (size_t s = 0; s < program_.slots; ++s)
        if (found->second[s] != found->second[s & mask])
          throw Error(message("input '", input.name, "' does not repeat with its period ", mask + 1,
                              ": slot ", s, " differs; repeat it"));
      values_[id(input.value)] = found->second;
    }
  }

  // Instructions in order; `release` frees what the instruction is the last to use.
  void execute(size_t index) {
    index_ = index;
    instruction_ = &program_.instructions[index];
    check_arguments();
    execute();
    for (Value result : instruction_->results) finish_value(result);
  }
  void release() {
    for (Value value : last_uses_[index_]) SlotVector().swap(values_[id(value)]);
  }

  const SlotVector& value(Value value) const { return values_[id(value)]; }

  TwinResult finish() {
    for (const NamedValue& output : program_.outputs)
      result_.outputs[output.name] = values_[id(output.value)];
    return std::move(result_);
  }

 private:
  const SlotVector& argument(size_t i) const { return values_[id(instruction_->arguments[i])]; }
  SlotVector& result(size_t i = 0) {
    SlotVector& values = values_[id(instruction_->results[i])];
    values.resize(program_.slots);
    return values;
  }

  // Reports the slots that are farther off than allowed: off(x, s) says by how much, and which number is.
  template <typename Off>
  void check(Value value, const std::string& what, double allowed, const Off& off) {
    const SlotVector& x = values_[id(value)];
    RangeViolation violation{.what = what};
    double farthest = -1;
    for (size_t s = 0; s < x.size(); ++s) {
      const auto [by, number] = off(x, s);
      if (by <= allowed) continue;
      ++violation.slots;
      if (by > farthest) farthest = by, violation.worst = number, violation.slot = s;
    }
    if (violation.slots > 0) report(std::move(violation));
  }

  // Whether re (and im, where asked) of the selected slots lies in [lo, hi].
  template <typename Select>
  void check_range(Value value, const std::string& what, double lo, double hi, bool imaginary,
                   const Select& selected) {
    if (inside(value, lo, hi, imaginary)) return;
    check(value, what, options_.slack, [&](const SlotVector& x, size_t s) {
      const auto outside = [&](double number) {
        return std::pair(std::max(lo - number, number - hi), number);
      };
      if (!selected(s)) return std::pair(0.0, 0.0);
      const auto re = outside(x[s].real()), im = outside(x[s].imag());
      return imaginary && im.first > re.first ? im : re;
    });
  }

  void report(RangeViolation violation) {
    violation.operation = describe(*instruction_);
    if (options_.on_range == TwinOptions::OnRange::kThrow)
      throw Error(message(violation.operation, ": ", violation.what, ", left in ", violation.slots,
                          " slots, worst ", violation.worst, " in slot ", violation.slot,
                          "; change the input, or widen the intervals with --margin of //cmd:polynomialise"));
    result_.violations.push_back(std::move(violation));
  }

  bool inside(Value value, double lo, double hi, bool imaginary) const {
    const Observation& seen = result_.observations[id(value)];
    const double slack = options_.slack;
    return seen.min_re >= lo - slack && seen.max_re <= hi + slack &&
           (!imaginary || (seen.min_im >= lo - slack && seen.max_im <= hi + slack));
  }

  void check_arguments() {
    const auto everywhere = [](size_t) { return true; };
    const Opcode opcode = instruction_->opcode;
    if (opcode == Opcode::kSeries) {
      const Value x = instruction_->arguments[0];
      check_range(x, "argument in [-1, 1]", -1, 1, false, everywhere);
      check_real(x, "argument is real");
    }
    if (opcode != Opcode::kRefresh && opcode != Opcode::kBootstrap) return;
    for (Value a : instruction_->arguments)
      check_range(a, "|re| <= 1 and |im| <= 1 of a refreshed value", -1, 1, true, everywhere);
    for (Value a : instruction_->arguments) check_blocks(a);
  }

  double allowed(Value value) const {
    return options_.slack * std::max(1.0, result_.observations[id(value)].max_abs);
  }

  void check_real(Value value, const char* what) {
    const Observation& seen = result_.observations[id(value)];
    if (std::max(-seen.min_im, seen.max_im) <= allowed(value)) return;
    check(value, what, allowed(value),
          [](const SlotVector& x, size_t s) { return std::pair(std::abs(x[s].imag()), x[s].imag()); });
  }

  void check_blocks(Value value) {
    const size_t block = program_.values[id(value)].block;
    if (block == 1) return;
    check(value, "slots are equal in blocks", allowed(value), [&](const SlotVector& x, size_t s) {
      const double difference = std::abs(x[s] - x[s - s % block]);
      return std::pair(difference, difference);
    });
  }

  // Noise, observation and the checks of a new value.
  void finish_value(Value value) {
    SlotVector& x = values_[id(value)];
    if (!options_.noise_std.empty() && options_.noise_std[id(value)] > 0) {
      const double sigma = options_.noise_std[id(value)];
      const uint64_t stream = mix(mix(options_.noise_seed) ^ id(value));
      const ckks::BootstrapKind& kind = instruction_->bootstrap;
      const size_t period = kind.sparse() ? kind.period : x.size();
      for_slots(x.size(), [&](size_t s) { x[s] += sigma * normal_pair(stream + s % period / kind.block); });
    }
    const Observation seen = observe_slots(x);
    if (!std::isfinite(seen.max_abs))
      throw Error(message("instruction ", index_, ", ", describe(*instruction_),
                          ": a result is not finite; a polynomial left its interval before this point"));
    result_.observations[id(value)] = seen;
    if (program_.values[id(value)].is_real) check_real(value, "a value marked real is real");
    for (const RangeCheck* range : checks_of_[id(value)]) {
      const bool imaginary = !program_.values[id(value)].is_real;
      if (inside(value, range->lo, range->hi, imaginary)) continue;
      const std::vector<ckks::Complex> where = range->where.to_vector();
      check_range(value, message(range->what, " in [", range->lo, ", ", range->hi, "]"), range->lo, range->hi,
                  imaginary, [&](size_t s) { return where.empty() || where[s & (where.size() - 1)] != 0.0; });
    }
    if (options_.observe) options_.observe(*instruction_, value, x);
  }

  ckks::PlainValues values_of(const ckks::Plain& plain) const {
    if (!plain.has_data())
      throw Error(
          message("instruction ", index_, ", ", describe(*instruction_),
                  ": its weights have a shape but no values; the twin needs a model, the meter does not"));
    return plain.values();
  }

  template <typename Function>
  void map_slots(SlotVector& out, const Function& function) {
    for_slots(program_.slots, [&](size_t s) { out[s] = function(s); });
  }
  // f of the first argument's slots, with those of the second one, or with the plaintext's.
  template <typename Function>
  void each(const Function& f) {
    const SlotVector& a = argument(0);
    map_slots(result(), [&](size_t s) { return f(a[s]); });
  }
  template <typename Function>
  void pairs(const Function& f) {
    const SlotVector &a = argument(0), &b = argument(1);
    map_slots(result(), [&](size_t s) { return f(a[s], b[s]); });
  }
  template <typename Function>
  void with_plain(const Function& f) {
    const SlotVector& a = argument(0);
    const ckks::PlainValues p = values_of(instruction_->plain);
    const size_t mask = p.size() - 1;
    map_slots(result(), [&](size_t s) { return f(a[s], p[s & mask]); });
  }

  void execute() {
    const size_t mask = program_.slots - 1;
    switch (instruction_->opcode) {
      case Opcode::kInput:
        return;  // loaded
      case Opcode::kAdd:
        return pairs([](ckks::Complex a, ckks::Complex b) { return a + b; });
      case Opcode::kSubtract:
        return pairs([](ckks::Complex a, ckks::Complex b) { return a - b; });
      case Opcode::kNegate:
        return each([](ckks::Complex a) { return -a; });
      case Opcode::kTimesI:
        return each([](ckks::Complex a) { return ckks::Complex(-a.imag(), a.real()); });
      case Opcode::kAddPlain:
        return with_plain([](ckks::Complex a, ckks::Complex p) { return a + p; });
      case Opcode::kMultiplyPlain:
        return with_plain([](ckks::Complex a, ckks::Complex p) { return product(p, a); });
      case Opcode::kMultiply:
        return pairs([](ckks::Complex a, ckks::Complex b) { return product(a, b); });
      case Opcode::kSumOfProducts:
        return execute_sum_of_products();
      case Opcode::kRotate: {
        const SlotVector& a = argument(0);
        for (size_t i = 0; i < instruction_->offsets.size(); ++i) {
          const auto offset = static_cast<size_t>(instruction_->offsets[i]);
          map_slots(result(i), [&](size_t s) { return a[(s + offset) & mask]; });
        }
        return;
      }
      case Opcode::kSumOfRotations: {
        const SlotVector& a = argument(0);
        const std::vector<int>& offsets = instruction_->offsets;
        // By halves, so that slots whose terms are the same have the same bits.
        return map_slots(result(), [&](size_t s) {
          std::array<ckks::Complex, kMostSummed> terms{a[s]};
          for (size_t i = 0; i < offsets.size(); ++i)
            terms[i + 1] = a[(s + static_cast<size_t>(offsets[i])) & mask];
          for (size_t left = offsets.size() + 1; left > 1; left /= 2)
            for (size_t i = 0; i < left / 2; ++i) terms[i] += terms[i + left / 2];
          return terms[0];
        });
      }
      case Opcode::kConjugate:
        return each([](ckks::Complex a) { return std::conj(a); });
      case Opcode::kLinear:
        return execute_linear();
      case Opcode::kSeries:
        return each([&](ckks::Complex a) { return ckks::clenshaw(instruction_->series->coefficients, a); });
      case Opcode::kRefresh:
        for (size_t i = 0; i < instruction_->arguments.size(); ++i) result(i) = argument(i);
        return;
      case Opcode::kBootstrap:
        return execute_bootstrap();
    }
    refuse_opcode("twin", instruction_->opcode);
  }

  void execute_sum_of_products() {
    SlotVector& out = result();
    const size_t factors = instruction_->arguments.size();
    for_blocks(program_.slots, [&](size_t, size_t begin, size_t end) {
      for (size_t s = begin; s < end; ++s) out[s] = product(argument(0)[s], argument(1)[s]);
      for (size_t i = 2; i < factors; i += 2) {
        const SlotVector &a = argument(i), &b = argument(i + 1);
        for (size_t s = begin; s < end; ++s) out[s] += product(a[s], b[s]);
      }
    });
  }

  // rot_g(w * rot_b(x)) in slot s is w[s + g] x[s + g + b]. Weights of one period are read a few terms at a time.
  void execute_linear() {
    PSM_CHECK(program_.slots >= kStretch, program_.slots, " slots");
    std::vector<SlotVector> inputs;
    for (size_t i = 0; i < instruction_->arguments.size(); ++i) {
      inputs.push_back(argument(i));
      inputs.back().insert(inputs.back().end(), argument(i).begin(), argument(i).begin() + kStretch);
    }
    for (size_t output = 0; output < instruction_->results.size(); ++output) {
      std::fill(result(output).begin(), result(output).end(), ckks::Complex(0));
      std::vector<const ckks::TransformTerm*> terms;
      for (const ckks::TransformTerm& term : instruction_->linear->terms) {
        if (static_cast<size_t>(term.output) != output) continue;
        const size_t period = term.weight.period();
        if (!terms.empty() && (terms.size() == kTermsAtOnce || terms[0]->weight.period() != period ||
                               terms.size() * period >= kWeightsAtOnce)) {
          add_terms(result(output), inputs, terms);
          terms.clear();
        }
        terms.push_back(&term);
      }
      if (!terms.empty()) add_terms(result(output), inputs, terms);
    }
  }

  // Adds terms with weights of one period.
  void add_terms(SlotVector& out, const std::vector<SlotVector>& inputs,
                 const std::vector<const ckks::TransformTerm*>& terms) const {
    std::vector<ckks::PlainValues> weights;
    for (size_t t = 0; t < terms.size(); ++t) weights.emplace_back(std::span<const ckks::Complex>());
    parallel_for(0, terms.size(), [&](size_t t) { weights[t] = values_of(terms[t]->weight); });
    const size_t slots = program_.slots, mask = terms[0]->weight.period() - 1,
                 period = std::max(mask + 1, kStretch);
    parallel_for(0, period / kStretch, [&](size_t stretch) {
      const size_t begin = stretch * kStretch;
      std::vector<StretchTerm> used;
      for (size_t t = 0; t < terms.size(); ++t) {
        const ckks::TransformTerm& term = *terms[t];
        const size_t moved = begin + static_cast<size_t>(term.giant);
        StretchTerm next{.x = inputs[static_cast<size_t>(term.input)].data(),
                         .from = moved + static_cast<size_t>(term.baby)};
        bool any = false;
        for (size_t i = 0; i < kStretch; ++i)
          any |= next.set(i, weights[t][(moved + i) & mask], term.conjugate);
        if (any) used.push_back(next);
      }
      size_t at = 0;
      for (; at + kRows * period <= slots; at += kRows * period)
        add_to_rows(&out[begin + at], used, at, period, slots);
      for (; at < slots; at += period) add_to_row(&out[begin + at], used, at, slots);
    });
  }

  // If there is a single real value, only the real part comes back. Two travel as c = a + i b and come back
  // as re(c), im(c).
  void execute_bootstrap() {
    if (instruction_->arguments.size() == 1) {
      const SlotVector& a = argument(0);
      const bool real = program_.values[id(instruction_->arguments[0])].is_real;
      map_slots(result(), [&](size_t s) { return real ? ckks::Complex(a[s].real(), 0) : a[s]; });
    } else {
      const SlotVector &a = argument(0), &b = argument(1);
      map_slots(result(0), [&](size_t s) { return ckks::Complex(a[s].real() - b[s].imag(), 0); });
      map_slots(result(1), [&](size_t s) { return ckks::Complex(b[s].real() + a[s].imag(), 0); });
    }
    for (size_t r = 0; r < instruction_->results.size(); ++r) {
      SlotVector& x = result(r);
      const size_t period = instruction_->bootstrap.period, block = instruction_->bootstrap.block;
      if (period != 0) average(x, x.size(), period, [&](size_t s) { return s % period; });
      if (block > 1) average(x, block, 1, [&](size_t s) { return s - s % block; });
      if (!options_.bootstrap_error) continue;
      map_slots(x, [&](size_t s) {
        const double re = x[s].real(), im = x[s].imag();
        return ckks::Complex(re + options_.bootstrap_error(re), im + options_.bootstrap_error(im));
      });
    }
  }

  // x[of(s)] becomes the mean of the slots that stand a multiple of `least` apart in its stretch of `length` slots, and
  // x[s] the same. Halved again and again: where they are equal their mean is exact.
  template <typename Of>
  static void average(SlotVector& x, size_t length, size_t least, const Of& of) {
    for (size_t half = length / 2; half >= least; half /= 2)
      for (size_t s = 0; s < x.size(); ++s)
        if (s % length < half) x[s] = (x[s] + x[s + half]) / 2.0;
    for (size_t s = 0; s < x.size(); ++s) x[s] = x[of(s)];
  }

  const Program& program_;
  const TwinOptions& options_;
  std::vector<SlotVector> values_;
  const std::vector<std::vector<Value>> last_uses_;
  std::vector<std::vector<const RangeCheck*>> checks_of_;
  TwinResult result_;
  size_t index_ = 0;
  const Instruction* instruction_ = nullptr;
};

void check_run(const Program& program, const std::map<std::string, SlotVector>& inputs,
               const TwinOptions& options) {
  validate(program);
  if (!options.noise_std.empty() && options.noise_std.size() != program.values.size())
    throw Error(message("noise for ", options.noise_std.size(), " values of a program with ",
                        program.value_count(), "; predict it for this program"));
  for (const auto& [name, unused] : inputs)
    if (std::ranges::find(program.inputs, name, &NamedValue::name) == program.inputs.end())
      throw Error(message("input '", name, "' is not one of the program's; check its name"));
}

}  // namespace

TwinResult run_twin(const Program& program, const std::map<std::string, SlotVector>& inputs,
                    const TwinOptions& options) {
  check_run(program, inputs, options);
  Twin twin(program, options);
  twin.load(inputs);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    twin.execute(i);
    twin.release();
  }
  return twin.finish();
}

TwinsResult run_twins(const Program& program, const std::map<std::string, SlotVector>& inputs,
                      const TwinOptions& options) {
  check_run(program, inputs, options);
  PSM_CHECK(options.noise_std.empty() && options.bootstrap_error);
  TwinOptions without = options;
  without.bootstrap_error = nullptr;
  const TwinOptions with{.on_range = TwinOptions::OnRange::kCount,
                         .bootstrap_error = options.bootstrap_error};
  Twin exact(program, without), moved(program, with);
  exact.load(inputs), moved.load(inputs);
  std::vector<double> apart(program.values.size(), 0);
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    exact.execute(i), moved.execute(i);
    for (Value result : program.instructions[i].results) {
      const SlotVector &a = exact.value(result), &b = moved.value(result);
      double sum = 0;
      for (size_t s = 0; s < a.size(); ++s) sum += std::norm(a[s] - b[s]);
      apart[static_cast<size_t>(result.id)] = std::sqrt(sum / (2 * static_cast<double>(a.size())));
    }
    exact.release(), moved.release();
  }
  return {exact.finish(), std::move(apart)};
}

}  // namespace psm::program
