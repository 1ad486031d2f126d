// Sums over rotations before their division by P, tile by tile: a tile of each of many rotations stays in the
// cache until all sums have read it.
#include <algorithm>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/engine/galois_tile.h"
#include "ckks/engine/host_engine.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// Both polynomials of a block's sources, a tile of each, are half of a second-level cache: 512 KiB.
constexpr size_t kBlockWords = size_t{1} << 16;

Basis basis_of(const Context& context, const SwitchedSource& source) {
  const Level level = source.from->level();
  return {level + 1, context.p_count(level)};
}

}  // namespace

Engine::Pair HostEngine::switch_extended(const std::array<RnsPoly, 2>& x, const GaloisStep& step) const {
  const Basis basis = x[0].basis();
  const RnsPoly c1 = switcher_.mod_down(x[1]);
  const Digits digits = switcher_.decompose(c1, basis.p);
  Pair out = make_pair(basis);
  parallel_for(0, static_cast<size_t>(basis.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    const size_t n = ring().n(), tile = std::min(n, kMaxTile);
    alignas(64) uint64_t k0[kMaxTile], k1[kMaxTile];
    for (size_t begin = 0; begin < n; begin += tile) {
      const size_t from = step.table->source_begin(begin, tile);
      switcher_.inner_product(digits, *step.key, j, from, from + tile, k0, k1);
      kernels().add(k0, k0, x[0].limb(j) + from, tile, x[0].modulus(j));
      kernels().automorphism(out[0].limb(j) + begin, k0, step.table->tile(begin, tile));
      kernels().automorphism(out[1].limb(j) + begin, k1, step.table->tile(begin, tile));
    }
  });
  return out;
}

Engine::Pair HostEngine::sum_switched(std::span<const SwitchedSource> sources) const {
  PSM_CHECK(!sources.empty());
  const Basis basis = basis_of(context(), sources[0]);
  Pair sum = make_pair(basis);
  parallel_for(0, static_cast<size_t>(basis.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& q = sum[0].modulus(j);
    const size_t n = ring().n(), tile = std::min(n, kMaxTile);
    alignas(64) uint64_t next0[kMaxTile], next1[kMaxTile];
    for (size_t begin = 0; begin < n; begin += tile) {
      uint64_t* c0 = sum[0].limb(j) + begin;
      uint64_t* c1 = sum[1].limb(j) + begin;
      galois_tile(switcher_, *sources[0].from, *sources[0].step, j, begin, tile, c0, c1);
      for (const SwitchedSource& source : sources.subspan(1)) {
        galois_tile(switcher_, *source.from, *source.step, j, begin, tile, next0, next1);
        kernels().add(c0, c0, next0, tile, q);
        kernels().add(c1, c1, next1, tile, q);
      }
    }
  });
  return sum;
}

void HostEngine::accumulate_limb(std::span<const SwitchedSource> sources, const WeightBlock& block, int j,
                                 std::vector<Pair>& sums) const {
  const size_t n = ring().n(), width = static_cast<size_t>(block.last_source - block.first_source);
  const Modulus& q = ring().modulus(ring().prime_index(basis_of(context(), sources[0]), j));
  const size_t size = std::min({n, kMaxTile, std::bit_floor(kBlockWords / (2 * width))});
  Buffer switched(2 * width * size);  // both polynomials of every source of the block
  std::vector<uint64_t*> out;
  std::vector<const uint64_t*> in, plain;
  for (size_t begin = 0; begin < n; begin += size) {
    for (int s = block.first_source; s < block.last_source; ++s) {
      uint64_t* c0 = switched.data() + 2 * (s - block.first_source) * size;
      galois_tile(switcher_, *sources[s].from, *sources[s].step, j, begin, size, c0, c0 + size);
    }
    for (const WeightTile& tile : block.tiles) {
      const size_t run = n / tile.values_per_limb;
      for (int half = 0; half < 2; ++half) {
        out.clear();
        in.clear();
        for (const int sum : tile.sums) out.push_back(sums[sum][half].limb(j) + begin);
        for (const int s : tile.sources)
          in.push_back(switched.data() + (2 * (s - block.first_source) + half) * size);
        const uint64_t* const weights = tile.weights_of_limb(j);
        if (!tile.by_runs(n)) {
          plain.clear();
          for (size_t p = 0; p < out.size() * in.size(); ++p)
            plain.push_back(weights + p * static_cast<size_t>(tile.values_per_limb) + begin / run);
          kernels().matrix_product(out.data(), out.size(), in.data(), in.size(), plain.data(), run, size, q,
                                   tile.accumulate);
        } else {
          kernels().run_matrix_product(out.data(), out.size(), in.data(), in.size(),
                                       weights + begin / run * out.size() * in.size(), std::min(run, size),
                                       size, q, tile.accumulate);
        }
      }
    }
  }
}

void HostEngine::add_weighted(std::vector<Pair>& sums, std::span<const SwitchedSource> sources,
                              const WeightBlock& block) const {
  const Basis basis = basis_of(context(), sources[0]);
  for (const WeightTile& tile : block.tiles) {
    for (const int sum : tile.sums) {
      if (sums[sum][0].empty()) sums[sum] = make_pair(basis);
    }
  }
  parallel_for(0, static_cast<size_t>(basis.limbs()),
               [&](size_t j) { accumulate_limb(sources, block, static_cast<int>(j), sums); });
}

std::vector<Engine::Pair> HostEngine::divide_weighted(std::span<const SwitchedSource> sources,
                                                      std::span<const Plaintext* const> weights) const {
  return switcher_.mod_down_rescale(
      basis_of(context(), sources[0]), sources.size(),
      [&](size_t i, int j, size_t begin, size_t size, uint64_t* out0, uint64_t* out1) {
        alignas(64) uint64_t switched[2][kMaxTile];
        galois_tile(switcher_, *sources[i].from, *sources[i].step, j, begin, size, switched[0], switched[1]);
        weights[i]->multiply_limb(out0, switched[0], j, begin, size);
        weights[i]->multiply_limb(out1, switched[1], j, begin, size);
      });
}

}  // namespace psm::ckks
