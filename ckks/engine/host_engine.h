// HostEngine: the engine on the processor. It works limb by limb with the kernels in use (ckks/ring/kernels).
// Intermediate results stay in the caches: sums and automorphisms are made tile by tile where the next step
// reads them.
//
// Key switching is hybrid (ePrint 2019/688; equations in engine.h). Both conversions are exact and centred
// (basis_conversion.h): a digit is uniform in [-D_i/2, D_i/2], and the division rounds to the nearest integer.
//
// chain.h counts the transforms. Memory traffic: the key is read once, digits are written and read once. A
// decomposition for one key only is transformed where it is summed, so its transforms never leave the cache.
// Sums of products are made tile by tile where the division needs them, in the first-level cache. A sum over
// many rotations, as in a linear transform, keeps a tile of all of them in the second-level cache.
//
// Scratch comes from the buffer pool; each operation runs over limbs in parallel.
#pragma once

#include "ckks/engine/converters.h"
#include "ckks/engine/engine.h"

namespace psm::ckks {

class HostEngine final : public Engine {
 public:
  static constexpr size_t kTogether = 4;  // products of a long sum that are added at a time

  explicit HostEngine(const Context& context) : Engine(context), converters_(context) {}

  void combine(std::span<RnsPoly> out, std::span<const Term> terms) const override;
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
  // The residues of a limb made at a time: few enough for the first-level cache.
  static constexpr size_t kTile = 1024;
  size_t tile() const { return std::min(ring().n(), kTile); }

  // Places [begin, begin + tile()) of limb j of a sum of products.
  void sum_tile(const Sum& sum, int j, size_t begin) const;
  Digits split(const RnsPoly& c, int p_count) const override;  // extensions are coefficients
  Digits raised_digit(const RnsPoly& c, int p_count) const;
  // Limb j of every digit in NTT form.
  struct DigitLimbs {
    Buffer room;  // of those that were transformed for it
    std::vector<const uint64_t*> limbs;
  };
  DigitLimbs transformed_limb(const Digits& digits, int j) const;
  // Places [begin, begin + size) of limb j of the digits' basis of (sum_i d_i b_i, sum_i d_i a_i), d_i given by their
  // limbs j in NTT form.
  void inner_product(const Digits& digits, const uint64_t* const* limbs, const KeySwitchKey& key, int j,
                     size_t begin, size_t size, uint64_t* out0, uint64_t* out1) const;
  // Places [begin, begin + size) of limb j of a rotation before its division by P; size at most kTile, a power of two,
  // and begin a multiple of it.
  void switched_tile(const SwitchedSource& source, int j, size_t begin, size_t size, uint64_t* c0,
                     uint64_t* c1) const;
  // out += x in limb j of an extended sum, from places of x that begin at `begin`; P x if x is modulo Q_l.
  void add_extended(uint64_t* out, const RnsPoly& x, int j, size_t begin, size_t size, Basis basis) const;
  // Places [first, last) of limb j of the sums.
  void accumulate(std::span<const SwitchedSource> sources, const WeightBlock& block, int j, size_t first,
                  size_t last, std::vector<Pair>& sums) const;

  // round(x / D) for polynomials of one basis in memory, D the product of the converter's sources.
  template <size_t kPolys>
  std::array<RnsPoly, kPolys> divide_by(const BasisConverter& by,
                                        const std::array<const RnsPoly*, kPolys>& x) const;
  // The same for `count` pairs of polynomials over `basis` that are never in memory as a whole. a_i and an
  // automorphism follow, if `after` has them. limb(j) prepares the common part of limb j of all pairs. It
  // returns tile(i, begin, size, x0, x1), which makes places [begin, begin + size) of pair i, at most `most`
  // of them. Each place is requested once, the same places of all pairs one after another, so that their
  // common data are in the cache.
  template <class Limb>
  std::vector<Pair> divide_made(const BasisConverter& by, Basis basis, size_t count, size_t most,
                                const Limb& limb, const SwitchOptions& after = {}) const;

  Converters converters_;
};

}  // namespace psm::ckks
