// DeviceEngine: the engine (ckks/engine/engine.h) of a device, by block programs.
//
// Operands and results are in the device's memory, keys and plaintexts as well (Engine::memory). An operation
// is a dozen launches at most for each polynomial it switches; README.md counts them.
//
// Rings of 2^10 to 2^16 coefficients, at most 64 primes and 32 digits.
#pragma once

#include <vector>

#include "ckks/device/device.h"
#include "ckks/device/device_tables.h"
#include "ckks/engine/engine.h"

namespace psm::ckks {

class DeviceEngine final : public Engine {
 public:
  // Uploads primes and roots. The device outlives the engine and whatever lives in its memory.
  DeviceEngine(const Context& context, Device& device);

  Memory* memory() const override { return &device_; }

  void combine(std::span<RnsPoly> out, std::span<const Term> terms) const override;
  void scale(std::span<RnsPoly> out, std::span<const RnsPoly> a, GaussianInteger z) const override;
  void add_constant(RnsPoly& a, GaussianInteger z) const override;
  void multiply_plain(std::span<RnsPoly> out, std::span<const RnsPoly> a, const Plaintext& b) const override;
  void add_plain(RnsPoly& a, const Plaintext& b) const override;
  void multiply_sums(std::span<RnsPoly> out, std::span<const Factors> factors, bool doubled,
                     std::span<const Term> terms) const override;
  Pair raise(const std::array<RnsPoly, 2>& a, Level level) const override;
  Pair divide(const std::array<RnsPoly, 2>& x, Basis to) const override;
  Digits decompose(const RnsPoly& c, int p_count) const override;
  Pair switch_key(const RnsPoly& c, const KeySwitchKey& key, const SwitchOptions& options) const override;
  Pair switch_key(const Digits& digits, const KeySwitchKey& key, const SwitchOptions& options) const override;
  Pair switch_extended(const std::array<RnsPoly, 2>& x, const GaloisStep& step) const override;
  Pair sum_switched(std::span<const SwitchedSource> sources) const override;
  std::vector<Pair> weighted_sums(std::span<const SwitchedSource> sources,
                                  std::span<const WeightBlock> blocks, size_t count) const override;
  std::vector<Pair> divide_weighted(std::span<const SwitchedSource> sources,
                                    std::span<const Plaintext* const> weights) const override;

 private:
  const Ring& ring() const { return context().ring(); }
  Basis basis_of(const SwitchedSource& source) const;
  RnsPoly make(Basis basis) const { return {ring(), basis, Form::kNtt, &device_}; }
  Pair make_pair(Basis basis) const { return {make(basis), make(basis)}; }
  Buffer room(size_t limbs) const { return Buffer(limbs * ring().n(), &device_); }
  // Where a polynomial begins, which must be in the device's memory.
  const uint64_t* here(const RnsPoly& poly) const;
  uint64_t* here(RnsPoly& poly) const;
  LimbPrimes primes_of(Basis basis) const;
  Permutation permutation_of(GaloisElement g) const;

  void transform(NttDirection direction, std::span<const NttTask> tasks) const;
  void convert(std::span<const Conversion> conversions) const;
  void accumulate_terms(std::span<RnsPoly> out, std::span<const Term> terms, bool accumulate) const;
  void apply_gaussian(std::span<RnsPoly> out, std::span<const RnsPoly> a, GaussianInteger z, bool adds) const;
  void apply_plain(std::span<RnsPoly> out, std::span<const RnsPoly> a, const Plaintext& b, bool adds) const;

  // What is divided, in memory modulo all its primes, and what the results are besides.
  struct Division {
    std::span<const RnsPoly> x;
    std::array<const RnsPoly*, 2> addends{};
    Permutation permutation{};
  };
  // By P or P q_l, into out, of that basis; by q_l.
  void divide_special(std::span<RnsPoly> out, const Division& division) const;
  void divide_last(std::span<RnsPoly> out, std::span<const RnsPoly> x) const;
  void finish_division(std::span<RnsPoly> out, const Division& division, const Buffer& remainders,
                       const Multiplier* inverses) const;

  // The rotation of a source (SwitchedSource) on some limbs: limb j at (j - first) N of out.
  struct Stretch {
    int first, limbs;
    std::array<uint64_t*, 2> out;
    bool accumulate = false;
  };
  struct Addends {
    std::array<const RnsPoly*, 2> polys{};
    const Multiplier* factor = nullptr;
  };
  void multiply_key(const Digits* digits, const KeySwitchKey* key, Basis basis, const Addends& addends,
                    const Permutation& permutation, const Stretch& stretch) const;
  void switch_source(const SwitchedSource& source, const Stretch& stretch) const;
  // One tile of weighted sums on some limbs, whose sources stand in `switched`.
  struct LimbRange {
    int first, limbs;
  };
  void multiply_tile(const WeightTile& tile, const WeightBlock& block, const LimbRange& range, Basis basis,
                     const Buffer& switched, std::vector<Pair>& sums) const;

  Device& device_;
  DeviceTables tables_;
};

}  // namespace psm::ckks
