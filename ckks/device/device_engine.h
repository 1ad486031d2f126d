// DeviceEngine: the engine (ckks/engine/engine.h) of a device, by block programs.
//
// Operands and results, keys and plaintexts are in the device's memory (Engine::memory). While digits have at most
// kMaxNttTasks limbs to transform, a rotation takes eight launches (RESULTS.md), and a giant step at most ten.
//
// Rings of 2^10 to 2^16 coefficients, at most 64 primes and 15 digits, and changes of basis from at most 15 primes; the
// constructor throws Error for others.
#pragma once

#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "ckks/device/device.h"
#include "ckks/engine/converters.h"
#include "ckks/engine/engine.h"
#include "ckks/scheme/chain/key_request.h"

namespace psm::ckks {

// A BasisConverter's constants, at addresses of the device.
struct DeviceConverter {
  const BasisConverter* host;
  const uint64_t* matrix;
  const double* reciprocals;
  const double* last;      // of source s: two, NttTask::last
  const double* inverses;  // D^{-1} modulo target t
};

class DeviceEngine final : public Engine, public ResidueMaker {
 public:
  // Uploads primes and roots. The device must outlive the engine and everything in its memory.
  DeviceEngine(const Context& context, Device& device);

  const PrimeView* views() const { return views_; }  // of all primes of the ring
  Memory* memory() const override { return &device_; }
  void wait() const override { device_.wait(); }
  const ResidueMaker* residue_maker() const override { return this; }
  Buffer residues(const CoefficientTile& tile, Basis basis) const override;

  void combine(std::span<RnsPoly> out, std::span<const Term> terms) const override {
    accumulate_terms(out, terms, false);
  }
  void with_constant(Arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                     GaussianInteger z) const override;
  void with_plain(Arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                  const Plaintext& b) const override;
  void multiply_sums(std::span<const Sum> sums) const override;
  Pair raise(const std::array<RnsPoly, 2>& a, Level level) const override;
  Pair divide(const std::array<RnsPoly, 2>& x, Basis to) const override;
  Digits decompose(const RnsPoly& c, int p_count, bool raised) const override;
  using Engine::switch_key;
  Pair switch_key(const Digits& digits, const KeySwitchKey& key, const SwitchOptions& options) const override;
  Pair giant_step(const Pair& x, const GaloisStep& step, const Pair* y) const override;
  Pair sum_switched(std::span<const SwitchedSource> sources) const override;
  void add_weighted(std::vector<Pair>& sums, std::span<const SwitchedSource> sources,
                    const WeightBlock& block) const override;
  std::vector<Pair> divide_weighted(std::span<const SwitchedSource> sources,
                                    std::span<const Plaintext* const> weights) const override;

 private:
  Buffer room(size_t limbs) const { return Buffer(limbs * ring().n(), &device_); }
  // Where a polynomial begins, which must be in the device's memory.
  const uint64_t* here(const RnsPoly& poly) const;
  uint64_t* here(RnsPoly& poly) const;
  LimbPrimes primes_of(Basis basis) const { return {views_, basis.q, basis.p, ring().q_count()}; }

  // Tables on the device, all of them public: primes and roots, and, made at their first use, the constants of changes
  // of basis, [P]_{q_j} by limb for the product P of the first p_count special primes, and automorphisms, of which the
  // identity's is empty.
  template <class T>
  const T* keep(std::span<const T> values) const;
  const DeviceConverter& converter(const BasisConverter& host) const;
  const double* p_products(int p_count) const;
  Permutation permutation(GaloisElement g) const;

  // The inverse transform; rows and columns of either, of 2^log_n residues; changes of basis, with the forward
  // transform's columns, to limbs of `basis`.
  void transform_back(std::vector<NttTask> tasks) const;
  template <NttDirection kDirection>
  void transform_rows(int log_n, std::vector<NttTask>& tasks) const;
  template <NttDirection kDirection>
  void transform_columns(int log_n, std::vector<NttTask>& tasks) const;
  void convert(Basis basis, std::span<const Conversion> conversions) const;
  // Programs of combine.h with their common fields.
  template <class Program>
  Program elementwise(std::span<RnsPoly> out) const;
  template <class Program>
  Program with_numbers(Arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a) const;
  void accumulate_terms(std::span<RnsPoly> out, std::span<const Term> terms, bool accumulate) const;

  // Digits and the key that they meet: with f and what is added, what is divided or rotated (key_operands.h).
  struct KeyedSource {
    const Digits* digits = nullptr;  // none for P times a ciphertext
    const KeySwitchKey* key = nullptr;
    std::array<const RnsPoly*, 2> addends{};
  };
  template <class Program>
  Program key_program(const Digits* digits, Basis basis, Basis primes, const double* factor) const;
  // The source as the program's next one, whose digits begin at `first`; counts bytes of key on these limbs.
  template <class Program>
  KeySource add_source(Program& program, Basis basis, const KeyedSource& source, int first,
                       std::span<const int> limbs) const;

  // round(x / D) of polynomials in memory, or of what a source has, with a_i and an automorphism after it.
  struct Division {
    std::span<const RnsPoly> x{};
    KeyedSource source{};
    const double* factor = nullptr;
    std::array<const RnsPoly*, 2> addends{};
    GaloisElement automorphism = 1;
  };
  // By the primes that `from` has and `out` lacks: P, P q_l or q_l.
  void divide_by(Basis from, std::span<RnsPoly> out, const Division& division) const;

  // Rotations of sources on some limbs: limb j at (j - first) N of out; `sum`: all of them to the first out, added to
  // what stands there if they `accumulate`.
  struct Stretch {
    int first = 0, limbs = 0;
    bool sum = false, accumulate = false;
  };
  struct Rotation {
    KeyedSource source;
    GaloisElement automorphism;
    std::array<uint64_t*, 2> out;
  };
  void multiply_keys(Basis basis, const double* factor, std::span<const Rotation> rotations,
                     const Stretch& stretch) const;
  Rotation rotation_of(const SwitchedSource& source, std::array<uint64_t*, 2> out) const;
  // One tile of weighted sums on some limbs, whose sources stand in `switched`.
  void multiply_tile(const WeightTile& tile, const WeightBlock& block, const Stretch& stretch,
                     const Buffer& switched, std::vector<Pair>& sums) const;

  Device& device_;
  Converters converters_;
  const PrimeView* views_;
  mutable std::mutex mutex_;
  mutable std::vector<Buffer> kept_;
  mutable std::map<const BasisConverter*, DeviceConverter> by_converter_;
  mutable std::map<int, const double*> p_products_;
  mutable std::map<GaloisElement, Permutation> permutations_;
};

// Keys of the sizes of a request, with undefined contents, for a device that does not compute.
EvaluationKeys unwritten_keys(const Context& context, const KeyRequest& request, Memory& memory);

}  // namespace psm::ckks
