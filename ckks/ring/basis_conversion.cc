#include "ckks/ring/basis_conversion.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

constexpr size_t kTile = 1024;

// Product of the sources, without source `left_out` (or all of them for -1), modulo m.
uint64_t product_modulo(const Ring& ring, const std::vector<int>& sources, int left_out, const Modulus& m) {
  uint64_t product = 1;
  for (int k = 0; k < static_cast<int>(sources.size()); ++k) {
    if (k != left_out) product = mul_mod(product, reduce_mod(ring.modulus(sources[k]).value, m), m);
  }
  return product;
}

}  // namespace

BasisConverter::BasisConverter(const Ring& ring, std::vector<int> sources, std::vector<int> targets)
    : sources_(std::move(sources)), targets_(std::move(targets)) {
  PSM_CHECK(!sources_.empty() && sources_.size() <= kMaxSources, sources_.size(), " sources");
  for (int i = 0; i < source_count(); ++i) {
    const Modulus& r = ring.modulus(sources_[i]);
    const uint64_t premultiplier = inverse_mod(product_modulo(ring, sources_, i, r), r);
    NttView& transform = inverse_transforms_.emplace_back(ring.ntt(sources_[i]));
    for (Multiplier* last : {&transform.inverse_n, &transform.inverse_n_root}) {
      *last = make_multiplier(mul_mod(last->value, premultiplier, r), r);
    }
    reciprocals_.push_back(1.0 / static_cast<double>(r.value));
  }
  for (int t : targets_) {
    const Modulus& m = ring.modulus(t);
    PSM_CHECK(std::find(sources_.begin(), sources_.end(), t) == sources_.end(), "prime ", t,
              " is on both sides");
    target_moduli_.push_back(m);
    for (int i = 0; i < source_count(); ++i) matrix_.push_back(product_modulo(ring, sources_, i, m));
    const uint64_t product = product_modulo(ring, sources_, -1, m);
    matrix_.push_back(negate_mod(product, m));
    inverse_products_.push_back(make_multiplier(inverse_mod(product, m), m));
  }
}

void BasisConverter::convert(uint64_t* out, const uint64_t* y, size_t n, size_t begin, size_t end) const {
  const size_t in = sources_.size();
  std::array<const uint64_t*, kMaxSources + 1> tile_in;
  std::array<uint64_t*, 64> tile_out;
  PSM_CHECK(targets_.size() <= tile_out.size(), targets_.size(), " targets");
  alignas(64) std::array<uint64_t, kTile> multiple;
  for (size_t tile = begin; tile < end; tile += kTile) {
    const size_t size = std::min(kTile, end - tile);
    for (size_t i = 0; i < in; ++i) tile_in[i] = y + i * n + tile;
    for (size_t j = 0; j < targets_.size(); ++j) tile_out[j] = out + j * n + tile;
    kernels().nearest_multiples(multiple.data(), tile_in.data(), reciprocals_.data(), in, size);
    tile_in[in] = multiple.data();
    kernels().basis_convert(tile_out.data(), targets_.size(), tile_in.data(), in + 1, matrix_.data(),
                            target_moduli_.data(), size);
  }
}

}  // namespace psm::ckks
