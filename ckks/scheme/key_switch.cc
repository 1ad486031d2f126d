#include "ckks/scheme/key_switch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/backend.h"

namespace psm {
namespace {

enum ConverterKind { kModUp, kModDown, kModDownRescale };

// Coefficients a thread converts at a time.
constexpr size_t kStretch = 4096;

void convert_in_parallel(const BasisConverter& converter, uint64_t* const* out, const uint64_t* const* y, size_t n) {
  const size_t stretch = std::min(n, kStretch);
  parallel_for(0, n / stretch, [&](size_t i) { converter.convert(out, y, i * stretch, (i + 1) * stretch); });
}

}  // namespace

const BasisConverter& KeySwitcher::converter(int kind, int level, int index, int p_count) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = converters_[{kind, level, index, p_count}];
  if (!entry) {
    const Ring& ring = context_.ring();
    std::vector<int> sources, targets;
    if (kind == kModUp) {
      const DigitRange digit = context_.digit(index, level);
      for (int i = 0; i <= level; ++i) (i >= digit.begin && i < digit.end ? sources : targets).push_back(i);
      for (int i = 0; i < p_count; ++i) targets.push_back(ring.q_count() + i);
      entry = std::make_unique<const BasisConverter>(ring, sources, targets);
    } else {
      for (int i = 0; i < p_count; ++i) sources.push_back(ring.q_count() + i);
      if (kind == kModDownRescale) sources.push_back(level);
      for (int i = 0; i < level + (kind == kModDown ? 1 : 0); ++i) targets.push_back(i);
      entry = std::make_unique<const BasisConverter>(ring, sources, targets);
    }
  }
  return *entry;
}

const Multiplier& KeySwitcher::p_product(int j, int p_count) const {
  return converter(kModDown, context_.max_level(), 0, p_count).product(j);
}

std::vector<RnsPoly> KeySwitcher::decompose(const RnsPoly& c, int p_count) const {
  PSM_CHECK(c.form() == Form::kNtt && c.basis().p == 0);
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const int level = c.basis().q - 1;
  const int count = context_.digit_count(level);

  // y_i: coefficients, multiplied by (D/q_i)^{-1}.
  std::vector<const BasisConverter*> converters;
  for (int d = 0; d < count; ++d) converters.push_back(&converter(kModUp, level, d, p_count));
  RnsPoly y = RnsPoly(ring, c.basis(), Form::kCoefficient);
  parallel_for(0, static_cast<size_t>(level) + 1, [&](size_t index) {
    const int j = static_cast<int>(index);
    int d = 0;
    while (context_.digit(d, level).end <= j) ++d;
    std::copy_n(c.limb(j), n, y.limb(j));
    k.ntt_inverse(y.limb(j), ring.ntt(j));
    k.scale(y.limb(j), y.limb(j), converters[d]->premultiplier(j - context_.digit(d, level).begin), n, ring.q(j));
  });

  std::vector<RnsPoly> digits;
  const Basis basis{level + 1, p_count};
  for (int d = 0; d < count; ++d) {
    RnsPoly& digit = digits.emplace_back(ring, basis, Form::kNtt);
    const BasisConverter& converter = *converters[d];
    std::array<const uint64_t*, 64> in;
    std::array<uint64_t*, 64> out;
    for (int i = 0; i < converter.source_count(); ++i) in[i] = y.limb(converter.source(i));
    for (int t = 0; t < converter.target_count(); ++t) {
      const int prime = converter.target(t);
      out[t] = digit.limb(prime <= level ? prime : basis.q + prime - ring.q_count());
    }
    convert_in_parallel(converter, out.data(), in.data(), n);
  }
  const size_t limbs = static_cast<size_t>(basis.limbs());
  parallel_for(0, static_cast<size_t>(count) * limbs, [&](size_t index) {
    const int d = static_cast<int>(index / limbs), j = static_cast<int>(index % limbs);
    const DigitRange range = context_.digit(d, level);
    if (j >= range.begin && j < range.end) {
      std::copy_n(c.limb(j), n, digits[d].limb(j));
    } else {
      k.ntt_forward(digits[d].limb(j), ring.ntt(digits[d].prime_index(j)));
    }
  });
  return digits;
}

void KeySwitcher::inner_product_limb(const std::vector<RnsPoly>& digits, const KeySwitchKey& key, int j,
                                     uint64_t* out0, uint64_t* out1) const {
  const Basis basis = digits[0].basis();
  PSM_CHECK(key.p_count == basis.p && key.level + 1 >= basis.q && key.digits.size() >= digits.size(), "key level ",
            key.level, " basis ", basis.q, "+", basis.p);
  std::array<const uint64_t*, 64> a, b0, b1;
  const int key_limb = j < basis.q ? j : key.level + 1 + j - basis.q;
  for (size_t d = 0; d < digits.size(); ++d) {
    a[d] = digits[d].limb(j);
    b0[d] = key.digits[d].b.limb(key_limb);
    b1[d] = key.digits[d].a.limb(key_limb);
  }
  kernels().inner_product_pair(out0, out1, a.data(), b0.data(), b1.data(), digits.size(), digits[0].n(),
                               digits[0].modulus(j), false);
}

void KeySwitcher::inner_product(const std::vector<RnsPoly>& digits, const KeySwitchKey& key, RnsPoly& out0,
                                RnsPoly& out1) const {
  PSM_CHECK(out0.basis() == digits[0].basis() && out1.basis() == digits[0].basis());
  parallel_for(0, static_cast<size_t>(out0.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    inner_product_limb(digits, key, j, out0.limb(j), out1.limb(j));
  });
}

RnsPoly KeySwitcher::mod_down(const RnsPoly& x, bool rescale) const {
  PSM_CHECK(x.form() == Form::kNtt && x.basis().p > 0);
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const int level = x.basis().q - 1;
  PSM_CHECK(!rescale || level > 0);
  const BasisConverter& converter = this->converter(rescale ? kModDownRescale : kModDown, level, 0, x.basis().p);

  const int sources = converter.source_count(), targets = converter.target_count();
  Buffer scratch(static_cast<size_t>(sources) * n);
  std::array<const uint64_t*, 64> in;
  std::array<uint64_t*, 64> out;
  parallel_for(0, static_cast<size_t>(sources), [&](size_t index) {
    const int i = static_cast<int>(index);
    const int prime = converter.source(i);
    uint64_t* y = scratch.data() + index * n;
    std::copy_n(x.limb(prime <= level ? prime : x.basis().q + prime - ring.q_count()), n, y);
    k.ntt_inverse(y, ring.ntt(prime));
    k.scale(y, y, converter.premultiplier(i), n, ring.modulus(prime));
    in[i] = y;
  });
  RnsPoly result(ring, {targets, 0}, Form::kNtt);
  for (int j = 0; j < targets; ++j) out[j] = result.limb(j);
  convert_in_parallel(converter, out.data(), in.data(), n);
  parallel_for(0, static_cast<size_t>(targets), [&](size_t index) {
    const int j = static_cast<int>(index);
    k.ntt_forward(result.limb(j), ring.ntt(j));
    k.subtract_scale(result.limb(j), x.limb(j), result.limb(j), converter.inverse_product(j), n, ring.q(j));
  });
  return result;
}

RnsPoly KeySwitcher::rescale(const RnsPoly& x) const {
  PSM_CHECK(x.form() == Form::kNtt && x.basis().p == 0 && x.basis().q > 1);
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const int level = x.basis().q - 1;
  const Modulus& q = ring.q(level);
  Buffer last(n);
  std::copy_n(x.limb(level), n, last.data());
  k.ntt_inverse(last.data(), ring.ntt(level));
  RnsPoly result(ring, {level, 0}, Form::kNtt);
  parallel_for(0, static_cast<size_t>(level), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = ring.q(j);
    k.reduce_centered(result.limb(j), last.data(), n, q, m);
    k.ntt_forward(result.limb(j), ring.ntt(j));
    const Multiplier inverse = make_multiplier(inverse_mod(reduce_mod(q.q, m), m), m);
    k.subtract_scale(result.limb(j), x.limb(j), result.limb(j), inverse, n, m);
  });
  return result;
}

}  // namespace psm
