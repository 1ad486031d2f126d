#include "ckks/engine/converters.h"

#include "ckks/base/error.h"

namespace psm::ckks {

Converters::Converters(const Context& context) : context_(context) {
  const Ring& ring = context.ring();
  for (int j = 0; j < ring.q_count(); ++j) {
    const Modulus& m = ring.q(j);
    std::vector<Multiplier>& products = p_products_.emplace_back();
    uint64_t product = 1;
    for (int i = 0; i < ring.p_count(); ++i) {
      product = mul_mod(product, reduce_mod(context.p(i), m), m);
      products.push_back(make_multiplier(product, m));
    }
  }
}

const Multiplier& Converters::p_product(int j, int p_count) const {
  PSM_CHECK(p_count >= 1 && p_count <= static_cast<int>(p_products_[j].size()), p_count, " special primes");
  return p_products_[j][p_count - 1];
}

const BasisConverter& Converters::kept(Kind kind, Level level, int digit, int p_count) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = converters_[{kind, level, digit, p_count}];
  if (!entry) {
    const Ring& ring = context_.ring();
    std::vector<int> sources, targets;
    if (kind == kModUp) {
      const DigitRange own = context_.digit(digit, level);
      for (int i = 0; i <= level; ++i) (i >= own.begin && i < own.end ? sources : targets).push_back(i);
      for (int i = 0; i < p_count; ++i) targets.push_back(ring.q_count() + i);
    } else {
      for (int i = 0; i < p_count; ++i) sources.push_back(ring.q_count() + i);
      if (kind == kModDownRescale) sources.push_back(level);
      for (int i = 0; i < level + (kind == kModDown ? 1 : 0); ++i) targets.push_back(i);
    }
    entry = std::make_unique<const BasisConverter>(ring, sources, targets);
  }
  return *entry;
}

const BasisConverter& Converters::mod_up(Level level, int digit, int p_count) const {
  return kept(kModUp, level, digit, p_count);
}
const BasisConverter& Converters::mod_down(Level level, int p_count) const {
  return kept(kModDown, level, 0, p_count);
}
const BasisConverter& Converters::mod_down_rescale(Level level, int p_count) const {
  return kept(kModDownRescale, level, 0, p_count);
}

}  // namespace psm::ckks
