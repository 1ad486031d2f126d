// What an instruction costs at a level: the work of its kernels, its key-switches, and the seconds that
// calibrated kernels take for it.
//
// Everything is counted in limbs: one limb is N residues modulo one prime. At level l there are l + 1 limbs, and
// key switching (hybrid, ePrint 2019/688) has the special primes k and digits d of the band of levels (scheme/chain/gadget.h)
// that l belongs to:
//   decompose      l+1 inverse NTTs, basis conversion of every digit, d(l+1+k) - (l+1) NTTs
//   key product    2 d (l+1+k) multiply-accumulates, and as many limbs of packed key read
//   ModDown (x 2)  k inverse NTTs, (k+1) (l+1) conversions, l+1 NTTs and products by a constant
// A full key-switch is all three; a hoisted one shares the decomposition; in a linear map the babies share
// the ModDown as well (double hoisting), and the giants keep c_0 extended: one ModDown of c_1 each.
//
// Plain data, no scheme: the same model meters a shape that no machine at hand can run.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ckks/poly/series_plan.h"
#include "ckks/program/program.h"

namespace psm::program {

// The parameters that cost depends on. The default is that of the secure preset: N = 2^16,
// q0 50 | 3 x 40 | 12 x 40 | 8 x 50 | 4 x 50, P = 6 x 50 bits.
struct SchemeShape {
  int log_n = 16;
  int entry_level = 3;     // level at which a bootstrap starts
  int compute_level = 15;  // level at which it ends
  int max_level = 27;
  // By band of levels; digit i holds the primes digit_ends[i-1] .. digit_ends[i]-1.
  struct Band {
    int top;
    int special_primes;
    std::vector<int> digit_ends;
  };
  std::vector<Band> bands{{3, 2, {2, 4}},    {9, 9, {10}},         {15, 7, {8, 16}},
                          {19, 9, {10, 20}}, {23, 8, {9, 18, 24}}, {27, 6, {7, 14, 20, 25, 28}}};

  // Bit lengths of q_0 .. q_max and of the special primes; keys are packed (ckks/ring/arithmetic/packing.h).
  std::vector<int> q_bits = [] {
    std::vector<int> bits(28, 50);
    for (int level = 1; level <= 15; ++level) bits[static_cast<size_t>(level)] = 41;
    return bits;
  }();
  std::vector<int> p_bits = std::vector<int>(9, 50);

  int band(int level) const;
  const Band& gadget(int level) const { return bands[static_cast<size_t>(band(level))]; }
  int special_primes(int level) const { return gadget(level).special_primes; }
  int digits(int level) const;
  double limb_bytes() const { return 8.0 * static_cast<double>(int64_t{1} << log_n); }
  double ciphertext_bytes(int level) const { return 2 * (level + 1) * limb_bytes(); }
  double key_bytes(int level) const { return 2.0 * digits(level) * packed_limbs(level) * limb_bytes(); }
  // What a polynomial modulo Q_l P takes in a key, in limbs of whole words.
  double packed_limbs(int level) const;
};

// Kinds of work, each counted in limbs.
enum class WorkKind {
  kNtt,         // forward or inverse
  kMultiply,    // multiply-accumulate slot by slot, operands in memory
  kAdd,         // sums, copies, products by one constant
  kConvert,     // one source limb to one target limb of a basis conversion
  kPermute,     // automorphism
  kKeyRead,     // as many bytes of a key-switching key from memory as a limb of whole words has
  kRunProduct,  // multiply-accumulate with a periodic plaintext (a constant for each run)
};
constexpr size_t kWorkKindCount = 7;
const char* name(WorkKind);

struct Work {
  std::array<double, kWorkKindCount> limbs{};
  double& operator[](WorkKind kind) { return limbs[static_cast<size_t>(kind)]; }
  double operator[](WorkKind kind) const { return limbs[static_cast<size_t>(kind)]; }
  Work& operator+=(const Work&);
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
  int64_t bootstraps = 0;
  Counts& operator+=(const Counts&);
  friend bool operator==(const Counts&, const Counts&) = default;
};

struct Effort {
  Work work;
  Counts counts;
  Effort& operator+=(const Effort&);
};

// The levels at which relinearisation and Galois keys are used; one key for each band, at its highest level of use.
struct KeyNeeds {
  std::set<int> relinearisation_levels;
  std::map<uint64_t, std::set<int>> galois_levels;
  void need_relinearisation(int level);
  void need_galois(uint64_t element, int level);
  void merge(const KeyNeeds&);
  std::vector<int> key_levels(const SchemeShape&) const;  // of each key
  double bytes(const SchemeShape&) const;
};

// Seconds for one limb of each kernel, all threads in use, on the ring of the shape. The default is a nominal
// machine, for planning without one: commands calibrate (calibrate.h).
struct KernelSeconds {
  std::array<double, kWorkKindCount> seconds{4e-4, 4e-5, 3e-5, 3e-5, 5e-5, 5e-5, 2e-5};
  double of(const Work&) const;
};

// What ckks/bootstrap says of one bootstrap, as data.
struct BootstrapFigures {
  Effort effort;               // kernels and key-switches
  Effort real_effort;          // of a bootstrap of one real value: one EvalMod instead of two
  double seconds = 20;         // measured or predicted; includes everything
  double real_seconds = 14;    // the same for one real value
  KeyNeeds keys;               // rotations, conjugation, relinearisation
  double other_key_bytes = 0;  // of the encapsulation keys
  double memory_bytes = 0;     // encoded transforms
  double scratch_bytes = 0;    // at its peak
};

class CostModel {
 public:
  explicit CostModel(SchemeShape shape = {}, KernelSeconds kernels = {}, BootstrapFigures bootstrap = {});

  const SchemeShape& shape() const { return shape_; }
  const KernelSeconds& kernels() const { return kernels_; }
  const BootstrapFigures& bootstrap() const { return bootstrap_; }

  // Of an instruction whose arguments are at `level` (drops to it are counted apart). kRefresh is free,
  // kBootstrap costs one bootstrap: of a complex value, of two real ones, or less for a single real one.
  Effort effort(const Instruction&, const Program&, int level) const;
  Effort drop_effort(int target) const;  // Evaluator::drop_to_level
  double seconds(const Instruction&, const Program&, int level) const;
  std::vector<double> seconds_by_level(const Instruction&, const Program&, int lowest, int highest) const;
  double drop_seconds(int target) const { return kernels_.of(drop_effort(target).work); }

  void add_keys(const Instruction&, int level, KeyNeeds&) const;

  // g = 5^offset mod 2N, times 2N - 1 for the conjugate.
  uint64_t galois_element(int offset, bool conjugate) const;

 private:
  SchemeShape shape_;
  KernelSeconds kernels_;
  BootstrapFigures bootstrap_;
};

// How a series is evaluated from a level on; levels and products do not depend on the primes.
SeriesPlan plan_on_powers_of_two(const ChebyshevSeries&, int level);

// What evaluating a series takes at its peak beside its argument and its result: the nodes that are alive, the sum and the
// digits of the one at hand. `shift` is added to the plan's levels.
double series_scratch_bytes(const SeriesPlan&, const SchemeShape&, int shift = 0);

// The key-switches of a linear map: its different sources, and the steps of Horner's rule over giants.
struct LinearSchedule {
  struct Source {
    int input, baby;
    bool conjugate;
    bool switched() const { return baby != 0 || conjugate; }
    auto operator<=>(const Source&) const = default;
  };
  struct GiantStep {
    int output, by;  // rotation of the running sum
  };
  std::set<Source> sources;
  std::vector<GiantStep> steps;
  int hoisted_inputs = 0;  // inputs that are decomposed
  int meetings = 0;        // steps that end where a sum is already
};
LinearSchedule linear_schedule(const LinearMap&, size_t slots);

}  // namespace psm::program
