// The cost of an instruction at a level: the work of its kernels, its key switches, and the seconds that
// calibrated kernels take.
//
// Everything is counted in limbs: one limb is N residues modulo one prime. At level l there are l + 1 limbs,
// and key switching (hybrid, ePrint 2019/688) has the special primes k and digits d of the band of levels
// (scheme/chain/chain.h) that l belongs to:
//   decompose      l+1 inverse NTTs, basis conversion of every digit, d(l+1+k) - (l+1) NTTs
//   key product    2 d (l+1+k) multiply-accumulates, and as many limbs of packed key read
//   ModDown (x 2)  k inverse NTTs, (k+1) (l+1) conversions, l+1 NTTs and products by a constant
// A full key switch is all three. Hoisted ones share the decomposition. In a linear map the babies also share
// the ModDown (double hoisting), and a giant keeps c_0 extended and needs one ModDown, of c_1. If the map
// divides its sources, every baby has a ModDown of its own, products have no limbs of P, and the first giant of a chain
// needs none.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "ckks/linalg/linear_transform.h"
#include "ckks/poly/series_plan.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/chain/chain.h"
#include "ckks/scheme/chain/key_request.h"

namespace psm::program {

// Kinds of work, each counted in limbs.
enum class WorkKind {
  kNtt,         // forward or inverse
  kMultiply,    // multiply-accumulate slot by slot, operands in the cache
  kAdd,         // sums, copies, products by one constant
  kConvert,     // one source limb to one target limb of a basis conversion
  kPermute,     // automorphism
  kKeyRead,     // as many bytes of a key-switching key from memory as a limb of whole words has
  kRunProduct,  // multiply-accumulate with a periodic plaintext (a constant for each run)
  kTensor,      // product of two ciphertexts: four products, operands in memory
};
constexpr size_t kWorkKindCount = 8;
const char* name(WorkKind);

struct Work {
  std::array<double, kWorkKindCount> limbs{};
  double& operator[](WorkKind kind) { return limbs[static_cast<size_t>(kind)]; }
  double operator[](WorkKind kind) const { return limbs[static_cast<size_t>(kind)]; }
  Work& operator+=(const Work& other) {
    for (size_t i = 0; i < kWorkKindCount; ++i) limbs[i] += other.limbs[i];
    return *this;
  }
};

struct Counts {
  int64_t hoisted_key_switches = 0;  // rotations that share a decomposition (conjugate ones included)
  int64_t full_key_switches = 0;     // rotations with a decomposition of their own, giants included
  int64_t relinearisations = 0;
  int64_t conjugations = 0;  // of a whole ciphertext, each a full key-switch
  int64_t plaintext_products = 0;
  int64_t ciphertext_products = 0;
  int64_t rescales = 0;
  int64_t level_drops = 0;  // a value brought down to the level of a use
  Counts& operator+=(const Counts& other) {
    hoisted_key_switches += other.hoisted_key_switches;
    full_key_switches += other.full_key_switches;
    relinearisations += other.relinearisations;
    conjugations += other.conjugations;
    plaintext_products += other.plaintext_products;
    ciphertext_products += other.ciphertext_products;
    rescales += other.rescales;
    level_drops += other.level_drops;
    return *this;
  }
  friend bool operator==(const Counts&, const Counts&) = default;
};

struct Effort {
  Work work;
  Counts counts;
  Effort& operator+=(const Effort& other) {
    work += other.work;
    counts += other.counts;
    return *this;
  }
};

// Adds up the evaluator's operations, in kernels and key switches. The costs of instructions and the figures
// of a bootstrap both come from it.
//
// Every figure is exact: a test runs each instruction and each kind of bootstrap on ciphertexts with counting
// kernels (machines/measured_cost_test.cc) and finds the same numbers. Copies, and the permuting and
// encoding of plaintexts, are left out.
//
// Levels are those of the operands.
class EffortSum {
 public:
  explicit EffortSum(const ckks::Chain& chain) : chain_(chain) {}

  Effort effort;

  // Sums, differences and products by one number or by i.
  void add(ckks::Level level, int polynomials = 2, int64_t times = 1);
  void rescale(ckks::Level level);
  // A product by a plaintext of this period, not rescaled. Period 1 is a number.
  void multiply_plain(ckks::Level level, size_t period, size_t slots);
  // `count` products of ciphertexts in one sum, before relinearisation.
  void multiply(ckks::Level level, int64_t count = 1);
  void relinearise_rescale(ckks::Level level);
  // One rotation has a decomposition of its own; several share one.
  void rotate(ckks::Level level, int64_t count = 1);
  void conjugate(ckks::Level level);
  // The sum of `count` rotations, the identity among them (Evaluator::sum_galois).
  void sum_rotations(ckks::Level level, int64_t count);
  void linear(const ckks::TransformCounts&, ckks::Level level);
  void series(std::span<const ckks::SeriesPlan::Node>);
  // From level 0 through the ephemeral secret, at modulus q_0 p_0, to `level`; and back from that secret, as a
  // sum of `count` rotations, the identity among them.
  void mod_raise(ckks::Level level);
  void sum_galois_raised(ckks::Level level, int64_t count);

 private:
  const ckks::Chain& chain_;
};

// Seconds of each kernel for one limb, with all threads, in the ring of the chain. The default is a nominal machine,
// for planning: its ratios are near those that calibrate.h, which measures this one, finds with AVX-512-IFMA.
struct KernelSeconds {
  std::array<double, kWorkKindCount> seconds{4e-4, 5e-5, 11e-5, 2.3e-5, 8e-5, 9e-5, 1.5e-5, 27e-5};
  double of(const Work& work) const {
    double total = 0;
    for (size_t i = 0; i < kWorkKindCount; ++i) total += seconds[i] * work.limbs[i];
    return total;
  }
};

// The properties of one kind of bootstrap, as data.
struct BootstrapFigures {
  ckks::BootstrapKind kind{};
  ckks::Level entry_level = 0, output_level = 0;
  Effort effort{};           // kernels and key-switches, of a complex value
  Effort real_effort{};      // of one real value: a full one takes one EvalMod instead of two
  Effort pair_effort{};      // of two real values that travel as a + i b
  double seconds = 20;       // measured or predicted; includes everything
  double real_seconds = 14;  // the same for one real value
  ckks::KeyRequest keys{};
  double memory_bytes = 0;   // encoded transforms
  double scratch_bytes = 0;  // at its peak
};

class CostModel {
 public:
  // `bootstraps` are the kinds that are offered, the full one first. A full one is always offered, between
  // the levels of the chain; its figures are nominal if they are not given. Keys of a sparse one pay if many
  // values use it, so the caller decides which kinds are offered.
  explicit CostModel(ckks::Chain chain, KernelSeconds kernels = {},
                     std::vector<BootstrapFigures> bootstraps = {});

  const ckks::Chain& chain() const { return chain_; }
  const KernelSeconds& kernels() const { return kernels_; }
  const std::vector<BootstrapFigures>& bootstraps() const { return bootstraps_; }
  const BootstrapFigures& bootstrap(const ckks::BootstrapKind&) const;  // must be offered (PSM_CHECK)

  // The effort of an instruction whose arguments are at `level`. Drops to this level count apart. kRefresh is free.
  // kBootstrap costs one bootstrap: of a complex value, of two real ones, or less for a single real one. Its steps have
  // seconds alone.
  Effort effort(const Instruction&, const Program&, ckks::Level level) const;
  Effort drop_effort(ckks::Level target) const;  // Evaluator::drop_to_level
  double seconds(const Instruction&, const Program&, ckks::Level level) const;
  std::vector<double> seconds_by_level(const Instruction&, const Program&, ckks::Level lowest,
                                       ckks::Level highest) const;
  // Whether a map at this level takes less time if it divides its sources.
  bool divides_sources(const ckks::LinearTransform&, size_t slots, ckks::Level level) const;
  double drop_seconds(ckks::Level target) const { return kernels_.of(drop_effort(target).work); }

 private:
  double linear_seconds(ckks::TransformCounts, bool divides_sources, ckks::Level level) const;

  ckks::Chain chain_;
  KernelSeconds kernels_;
  std::vector<BootstrapFigures> bootstraps_;
};

// The peak memory of evaluating a series, without argument and result: the live nodes, and the sum and digits
// of the current one.
double series_scratch_bytes(const ckks::SeriesPlan&, const ckks::Chain&);

}  // namespace psm::program
