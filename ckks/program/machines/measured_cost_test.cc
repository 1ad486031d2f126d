// What the cost model says against what the kernels do: the encrypted machine runs over kernels that count.
#include <atomic>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/program/testing/test_machine.h"
#include "ckks/ring/kernels/backend.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

using ckks::Kernels;
using ckks::Modulus;

constexpr int kLogN = 10;
constexpr size_t kSlots = size_t{1} << (kLogN - 1);

// Kernels are plain functions, so what they count is shared by all. They count residues, not calls, because callers cut
// limbs into stretches as they like: a product for every pair that is multiplied, added up or not; a conversion for one
// source and one target, the multiple of Q among the sources; of packed keys the bits; all else by operand.
std::atomic<uint64_t> counted[kWorkKindCount];
// Key products modulo the marked prime alone. A key switch works on q_0 once, so marking q_0 counts key switches.
std::atomic<uint64_t> marked_key_products;
uint64_t marked = 0;
const Kernels* below = nullptr;

void note(WorkKind kind, uint64_t residues) { counted[static_cast<size_t>(kind)] += residues; }

// A kernel that counts its call and passes it on.
template <auto kMember, auto kCount, typename... Args>
void counting(Args... args) {
  kCount(args...);
  (below->*kMember)(args...);
}
template <auto kMember, auto kCount, typename... Args>
void wrap(Kernels& k, void (*Kernels::*)(Args...)) {
  k.*kMember = counting<kMember, kCount, Args...>;
}
template <auto kMember, auto kCount>
void wrap(Kernels& k) {
  wrap<kMember, kCount>(k, kMember);
}

// The one size among the arguments of most kernels: residues.
uint64_t size_in(size_t n) { return n; }
template <typename Other>
uint64_t size_in(const Other&) {
  return 0;
}
constexpr auto kProducts = [](const auto&... args) { note(WorkKind::kMultiply, (size_in(args) + ...)); };
constexpr auto kOthers = [](const auto&... args) { note(WorkKind::kAdd, (size_in(args) + ...)); };
constexpr auto kTransforms = [](auto, auto, const ckks::NttView& tables) {
  note(WorkKind::kNtt, uint64_t{1} << tables.log_n);
};

Kernels counting_kernels() {
  Kernels k;
  k.name = "counting";
  wrap<&Kernels::ntt_forward, kTransforms>(k);
  wrap<&Kernels::ntt_inverse, kTransforms>(k);
  wrap<&Kernels::add, kOthers>(k);
  wrap<&Kernels::subtract, kOthers>(k);
  wrap<&Kernels::multiply, kProducts>(k);
  wrap<&Kernels::multiply_add, kProducts>(k);
  wrap<&Kernels::scale, kOthers>(k);
  wrap<&Kernels::scale_add, kOthers>(k);
  wrap<&Kernels::subtract_scale, kOthers>(k);
  wrap<&Kernels::subtract_scale_add, kOthers>(k);
  wrap<&Kernels::reduce_centered, kOthers>(k);
  wrap<&Kernels::tensor_product, [](auto, auto, auto, auto, auto, auto, auto, size_t count, size_t n,
                                    const Modulus&) { note(WorkKind::kTensor, count * n); }>(k);
  wrap<&Kernels::packed_inner_product_pair,
       [](auto, auto, auto, auto, auto, size_t count, size_t n, const Modulus& q) {
         note(WorkKind::kMultiply, 2 * count * n);
         note(WorkKind::kKeyRead, 2 * count * n * static_cast<size_t>(q.bits));
         if (q.value == marked) marked_key_products += n;
       }>(k);
  wrap<&Kernels::basis_convert, [](auto, size_t out_count, auto, size_t in_count, auto, auto, size_t n) {
    note(WorkKind::kConvert, out_count * in_count * n);
  }>(k);
  wrap<&Kernels::nearest_multiples,
       [](auto, auto, auto, size_t count, size_t n) { note(WorkKind::kAdd, count * n); }>(k);
  wrap<&Kernels::automorphism,
       [](auto, auto, const ckks::AutomorphismView& table) { note(WorkKind::kPermute, table.n); }>(k);
  wrap<&Kernels::matrix_product,
       [](auto, size_t rows, auto, size_t cols, auto, size_t run, size_t n, const Modulus&, bool) {
         note(run == 1 ? WorkKind::kMultiply : WorkKind::kRunProduct, rows * cols * n);
       }>(k);
  wrap<&Kernels::run_matrix_product,
       [](auto, size_t rows, auto, size_t cols, auto, size_t, size_t n, const Modulus&, bool) {
         note(WorkKind::kRunProduct, rows * cols * n);
       }>(k);
  return k;
}

// In limbs, as the model counts.
struct Measured {
  Work work;
  int64_t key_switches = 0;
};

// A backend that passes every call on to the one in use and adds up the residues. Counts while it lives; only one may
// live. Work under way at its beginning or end is counted in part.
class KernelCounter {
 public:
  explicit KernelCounter(uint64_t marked_prime) {
    static const Kernels counting = counting_kernels();
    PSM_CHECK(below == nullptr, "two counters at once");
    below = &ckks::kernels();
    marked = marked_prime;
    take();
    ckks::use_backend(counting);
  }
  ~KernelCounter() {
    ckks::use_backend(*below);
    below = nullptr;
  }
  KernelCounter(const KernelCounter&) = delete;
  KernelCounter& operator=(const KernelCounter&) = delete;

  // Since the last call.
  Measured take() {
    const auto limbs = [](std::atomic<uint64_t>& count) {
      return std::ldexp(static_cast<double>(count.exchange(0)), -kLogN);
    };
    Measured measured;
    for (size_t k = 0; k < kWorkKindCount; ++k) measured.work.limbs[k] = limbs(counted[k]);
    measured.work[WorkKind::kKeyRead] /= 64;
    measured.key_switches = static_cast<int64_t>(limbs(marked_key_products));
    return measured;
  }
};

int64_t key_switches(const Counts& counts) {
  return counts.hoisted_key_switches + counts.full_key_switches + counts.relinearisations +
         counts.conjugations;
}

void check_equal(const Measured& measured, const Effort& effort) {
  for (size_t k = 0; k < kWorkKindCount; ++k) {
    const auto kernel = static_cast<WorkKind>(k);
    CAPTURE(std::string(name(kernel)));
    CHECK(measured.work[kernel] == doctest::Approx(effort.work[kernel]).epsilon(1e-12));
  }
  CHECK(measured.key_switches == key_switches(effort.counts));
}

// Runs a program twice, so that the second run finds all plaintexts encoded, and holds every instruction of
// that one against the model. Returns the bootstraps that it met.
std::vector<Measured> compare(const ckks::ParameterSpec& spec, Program program,
                              const std::set<ckks::BootstrapKind>& kinds = {{}}) {
  TestMachine setting(spec, std::move(program), kinds);
  const CostModel& model = setting.model;
  const Plan& plan = setting.plan_;
  std::map<std::string, SlotVector> inputs;
  for (const NamedValue& input : plan.program.inputs) inputs[input.name] = SlotVector(kSlots, 0.5);
  const auto ciphertexts = setting.encrypt(inputs);
  setting.machine->run(ciphertexts);

  KernelCounter counter(setting.party.context.q(0));
  std::vector<ckks::Level> levels(plan.level.size(), -1);
  std::set<std::pair<int, ckks::Level>> lowered;  // values at lower levels, kept by the machine
  std::vector<Measured> bootstraps;
  RunOptions options;
  options.observe = [&](size_t, Value value, const ckks::Ciphertext& result) {
    levels[value.id] = result.level();
  };
  options.progress = [&](size_t done, size_t) {
    const size_t index = done - 1;
    const Instruction& instruction = plan.program.instructions[index];
    const ckks::Level level = plan.argument_level[index];
    const bool is_bootstrap = instruction.opcode == Opcode::kBootstrap;
    CAPTURE(describe(instruction));
    Effort effort = model.effort(instruction, plan.program, level);
    for (Value argument : instruction.arguments) {
      if (levels[argument.id] != level && lowered.insert({argument.id, level}).second)
        effort += model.drop_effort(level);
    }
    for (Value result : instruction.results) {
      const ckks::Level at = levels[result.id];
      CHECK(at == plan.level[result.id]);
      if (is_bootstrap && at < model.bootstrap(instruction.bootstrap).output_level)
        effort += model.drop_effort(at);
      if (!is_bootstrap) CHECK(at == level - depth(instruction));
    }
    const Measured measured = counter.take();
    check_equal(measured, effort);
    if (is_bootstrap) bootstraps.push_back(measured);
  };
  counter.take();
  setting.machine->run(ciphertexts, options);
  return bootstraps;
}

ckks::Plain random_plain(size_t period) { return ckks::Plain(random_slots(1, period)); }

TEST_CASE("every instruction but a bootstrap does exactly what the cost model counts, kernel by kernel") {
  Builder b(kSlots);
  const Value x = b.input("x"), y = b.input("y"), r = b.input("r", true);
  std::vector<Value> results{b.add(x, y), b.subtract(x, b.square(y)), b.negate(x), b.times_i(x)};
  for (size_t period : {size_t{1}, size_t{8}, kSlots})
    results.push_back(b.add_plain(x, random_plain(period)));
  // Runs of one, of a few, of many, and of all residues.
  for (size_t period : {kSlots, kSlots / 8, size_t{4}, size_t{1}})
    results.push_back(b.multiply_plain(x, random_plain(period)));
  results.push_back(b.multiply(x, y));
  const std::vector<std::pair<Value, Value>> pairs{{x, y}, {y, y}, {x, r}};
  results.push_back(b.sum_of_products(pairs));
  results.push_back(b.conjugate(x));
  results.push_back(b.rotate(x, 7));
  const std::vector<Value> turned = b.rotate_all(y, std::vector<int>{3, -5, 11});
  results.insert(results.end(), turned.begin(), turned.end());
  // Even and odd ones, of one level and of several, with and without products to double.
  for (const std::vector<double>& coefficients :
       {std::vector<double>{0.5, 0.25},
        {0, 0.5, 0, 0.25},
        {0.3, -0.5, 0.25, 0.125, 0.1, -0.2, 0, 0.05},
        {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.02}})
    results.push_back(b.series(r, {coefficients}));
  for (size_t i = 0; i < results.size(); ++i) b.output("output " + std::to_string(i), results[i]);
  CHECK(compare(ckks::insecure_leveled(kLogN, 6), std::move(b).finish()).empty());
}

TEST_CASE("a linear map does what the cost model counts, whatever its sources, giants and plaintexts") {
  const std::vector<std::vector<int>> giant_sets{{0},       {0, 16, 32}, {16, 32}, {-32, -16, 0, 16},
                                                 {-16, 16}, {-48, -16}};
  for (const std::vector<int>& giants : giant_sets) {
    for (const bool rotated : {true, false}) {
      Builder b(kSlots);
      const std::vector<Value> inputs{b.input("x"), b.input("y")};
      ckks::LinearTransform map{.outputs = 2, .terms = {}, .divides_sources = giants.size() == 3};
      for (int giant : giants)
        for (int baby : rotated ? std::vector<int>{0, 1, 5} : std::vector<int>{0})
          for (int input : {0, 1})
            map.terms.push_back({.output = input,
                                 .giant = giant,
                                 .input = rotated ? input : 0,
                                 .baby = baby,
                                 .conjugate = baby == 5,
                                 .weight = random_plain(input == 0 ? 32 : kSlots)});
      const std::vector<Value> outputs = b.linear(inputs, map);
      b.output("first", outputs[0]);
      b.output("second", outputs[1]);
      b.output("unused", inputs[1]);
      compare(ckks::insecure_leveled(kLogN, 4), std::move(b).finish());
    }
  }
}

// The one bootstrap of so many values that are squared until they need it.
Measured bootstrap_of(const ckks::ParameterSpec& spec, bool real, int values,
                      const ckks::BootstrapKind& kind = {}) {
  Builder b(kSlots);
  std::vector<Value> x;
  for (int v = 0; v < values; ++v) x.push_back(b.input("x" + std::to_string(v), real, kind.period));
  for (int i = 0; i < 18; ++i) {
    for (Value& value : x) b.mark_blocks(value, kind.block);
    if (i == 9) x = b.refresh(x);
    for (Value& value : x) value = b.square(value);
  }
  for (int v = 0; v < values; ++v) b.output("y" + std::to_string(v), x[v]);
  const std::vector<Measured> bootstraps = compare(spec, std::move(b).finish(), {{}, kind});
  REQUIRE(bootstraps.size() == 1);
  return bootstraps[0];
}

TEST_CASE("bootstraps of a complex value, of a real one and of two real ones do what the cost model counts") {
  for (const ckks::ParameterSpec& spec :
       {ckks::insecure_bootstrappable(kLogN), ckks::insecure_version(ckks::secure_n16_dense(), kLogN)}) {
    const Measured complex = bootstrap_of(spec, false, 1), real = bootstrap_of(spec, true, 1),
                   pair = bootstrap_of(spec, true, 2);
    // One EvalMod, whose key switches are all relinearisations, and not two.
    const ckks::Context context(spec);
    const ckks::BootstrapPlan plan(context);
    CHECK(complex.key_switches - real.key_switches ==
          plan.eval_mod().series().relinearisations() + ckks::EvalMod::kDoubleAngles);
    CHECK(pair.key_switches == complex.key_switches);
  }
}

TEST_CASE(
    "sparse bootstraps of a complex value, of a real one and of two real ones do what the cost model "
    "counts") {
  for (const size_t period : {16, 128}) {
    CAPTURE(period);
    const ckks::ParameterSpec spec = ckks::insecure_bootstrappable(kLogN);
    const Measured complex = bootstrap_of(spec, false, 1, {period}),
                   real = bootstrap_of(spec, true, 1, {period}), pair = bootstrap_of(spec, true, 2, {period}),
                   full = bootstrap_of(spec, false, 1);
    CHECK(real.key_switches == complex.key_switches);
    CHECK(pair.key_switches == complex.key_switches);
    CHECK(complex.work[WorkKind::kNtt] < 0.75 * full.work[WorkKind::kNtt]);
  }
}

TEST_CASE("bootstraps of blocks do what the cost model counts") {
  for (const ckks::BootstrapKind kind : {ckks::BootstrapKind{64, 8}, {kSlots, kSlots / 16}}) {
    CAPTURE(kind.text());
    const ckks::ParameterSpec spec = ckks::insecure_bootstrappable(kLogN);
    const Measured blocks = bootstrap_of(spec, true, 1, kind), full = bootstrap_of(spec, true, 1);
    CHECK(blocks.work[WorkKind::kNtt] < full.work[WorkKind::kNtt]);
  }
}

TEST_CASE("bootstraps of the default parameters take so many key switches and products") {
  const ckks::Context context(ckks::secure_n16());
  const auto counts = [&](const ckks::BootstrapKind& kind) {
    return figures_of(ckks::BootstrapPlan(context, kind), {}).effort.counts;
  };
  const Counts full = counts({}), sparse = counts({1 << 10}), blocks = counts({256, 32});
  const auto of_series = [&](const ckks::BootstrapKind& kind) {
    EffortSum sum(context.chain());
    sum.series(ckks::BootstrapPlan(context, kind).eval_mod().series().nodes);
    return sum.effort.counts.plaintext_products;
  };
  CHECK(full.hoisted_key_switches == 71);
  CHECK(full.full_key_switches == 31 + 7 + 3 + 3 + 3 + 2);
  CHECK(full.conjugations == 1);
  CHECK(full.relinearisations == 22);
  CHECK(full.plaintext_products == 1023 + 64 + 16 + 31 + 31 + 15 + 2 * of_series({}));
  CHECK(sparse.hoisted_key_switches == 15 + 7 + 16 + 7 + 7 + 3 + 3 + 3 + 1);
  CHECK(sparse.full_key_switches == 3 + 3 + 1 + 1 + 2);
  CHECK(sparse.relinearisations == 11);
  CHECK(sparse.plaintext_products == 63 + 32 + 16 + 15 + 15 + 2 + of_series({1 << 10}));
  CHECK(blocks.hoisted_key_switches == 3 + 3 + 16 + 4 * 3 + 3);
  CHECK(blocks.full_key_switches == 1 + 1);
  CHECK(blocks.relinearisations == 11);
  CHECK(blocks.plaintext_products == 8 + 4 + of_series({256, 32}));
}

}  // namespace
}  // namespace psm::program
