// HostEngine: the processor's engine, limb by limb on the kernels in use (ckks/ring/kernels). Results that a
// step does not need in memory stay in the caches: sums and automorphisms are made tile by tile where the
// next step reads them.
//
// Scratch comes from the buffer pool; each operation runs over limbs in parallel.
#pragma once

#include "ckks/engine/engine.h"
#include "ckks/engine/key_switch.h"

namespace psm::ckks {

class HostEngine final : public Engine {
 public:
  explicit HostEngine(const Context& context) : Engine(context), switcher_(context) {}

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
  void add_weighted(std::vector<Pair>& sums, std::span<const SwitchedSource> sources,
                    const WeightBlock& block) const override;
  std::vector<Pair> divide_weighted(std::span<const SwitchedSource> sources,
                                    std::span<const Plaintext* const> weights) const override;

 private:
  const Ring& ring() const { return context().ring(); }
  Pair make_pair(Basis basis) const;
  // Limb j of the sums, all places.
  void accumulate_limb(std::span<const SwitchedSource> sources, const WeightBlock& block, int j,
                       std::vector<Pair>& sums) const;

  KeySwitcher switcher_;
};

}  // namespace psm::ckks
