#include "ckks/scheme/key_switch.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/backend.h"

namespace psm {
namespace {

// Coefficients a thread converts at a time.
constexpr size_t kStretch = 2048;
constexpr size_t kMaxLimbs = 64;

// The limb of `prime` (an index of the ring) in a polynomial of this basis.
int limb_of(const Ring& ring, Basis basis, int prime) {
  return prime < ring.q_count() ? prime : basis.q + prime - ring.q_count();
}

// round(x / D) for kPolys polynomials x, D = product of the converter's sources:
//     out_j = (x_j - [x]_D) / D modulo each target j,
// followed by an automorphism where a table is given. x is given limb by limb: source(prime, scratch, limbs)
// sets limbs[i] to the residues of x_i modulo that prime, which it may write to `scratch` (kPolys * N words).
template <size_t kPolys, typename Source>
std::array<RnsPoly, kPolys> divide(const Ring& ring, const BasisConverter& converter,
                                   const AutomorphismTable* table, Source&& source) {
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const size_t sources = static_cast<size_t>(converter.source_count());
  const size_t targets = static_cast<size_t>(converter.target_count());
  Buffer residues(kPolys * sources * n), corrections(kPolys * targets * n);

  parallel_for(0, sources, [&](size_t s) {
    const int prime = converter.source(static_cast<int>(s));
    Buffer scratch(kPolys * n);
    std::array<const uint64_t*, kPolys> limbs;
    source(prime, scratch.data(), limbs);
    for (size_t i = 0; i < kPolys; ++i) {
      uint64_t* y = residues.data() + (i * sources + s) * n;
      k.scale(y, limbs[i], converter.premultiplier(static_cast<int>(s)), n, ring.modulus(prime));
      k.ntt_inverse(y, ring.ntt(prime));
    }
  });

  const size_t stretch = std::min(n, kStretch), stretches = n / stretch;
  parallel_for(0, kPolys * stretches, [&](size_t index) {
    const size_t i = index / stretches, begin = index % stretches * stretch;
    std::array<const uint64_t*, kMaxLimbs> y;
    std::array<uint64_t*, kMaxLimbs> out;
    for (size_t s = 0; s < sources; ++s) y[s] = residues.data() + (i * sources + s) * n;
    for (size_t j = 0; j < targets; ++j) out[j] = corrections.data() + (i * targets + j) * n;
    converter.convert(out.data(), y.data(), begin, begin + stretch);
  });

  std::array<RnsPoly, kPolys> result;
  for (RnsPoly& poly : result) poly = RnsPoly(ring, {converter.target_count(), 0}, Form::kNtt);
  parallel_for(0, targets, [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = ring.q(j);
    for (size_t i = 0; i < kPolys; ++i)
      k.ntt_forward(corrections.data() + (i * targets + index) * n, ring.ntt(j));
    Buffer scratch(kPolys * n);
    std::array<const uint64_t*, kPolys> limbs;
    source(j, scratch.data(), limbs);
    for (size_t i = 0; i < kPolys; ++i) {
      uint64_t* correction = corrections.data() + (i * targets + index) * n;
      uint64_t* out = result[i].limb(j);
      k.subtract_scale(table ? correction : out, limbs[i], correction, converter.inverse_product(j), n, m);
      if (table) k.automorphism(out, correction, *table);
    }
  });
  return result;
}

}  // namespace

KeySwitcher::KeySwitcher(const Context& context) : context_(context) {
  for (int j = 0; j <= context.max_level(); ++j) {
    const Modulus& m = context.ring().q(j);
    uint64_t product = 1;
    for (int i = 0; i < context.p_count(); ++i) {
      product = mul_mod(product, reduce_mod(context.p(i), m), m);
      if (i == 0) first_p_.push_back(make_multiplier(product, m));
    }
    p_products_.push_back(make_multiplier(product, m));
  }
}

const Multiplier& KeySwitcher::p_product(int j, int p_count) const {
  PSM_CHECK(p_count == 1 || p_count == context_.p_count(), p_count, " special primes");
  return p_count == context_.p_count() ? p_products_[j] : first_p_[j];
}

const BasisConverter& KeySwitcher::converter(Kind kind, int level, int index, int p_count) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& entry = converters_[{kind, level, index, p_count}];
  if (!entry) {
    const Ring& ring = context_.ring();
    std::vector<int> sources, targets;
    if (kind == kModUp) {
      const DigitRange digit = context_.digit(index, level);
      for (int i = 0; i <= level; ++i) (i >= digit.begin && i < digit.end ? sources : targets).push_back(i);
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

Digits KeySwitcher::decompose(const RnsPoly& c, int p_count) const {
  PSM_CHECK(c.form() == Form::kNtt && c.basis().p == 0);
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const int level = c.basis().q - 1;
  Digits digits{{level + 1, p_count}, context_.digit_count(level), {}, {}};
  digits.limbs.resize(static_cast<size_t>(digits.basis.limbs() * digits.count));

  std::vector<const BasisConverter*> converters;
  for (int d = 0; d < digits.count; ++d) {
    const BasisConverter& converter = *converters.emplace_back(&this->converter(kModUp, level, d, p_count));
    Buffer& extension = digits.extensions.emplace_back(static_cast<size_t>(converter.target_count()) * n);
    for (int i = 0; i < converter.source_count(); ++i) {
      digits.limbs[converter.source(i) * digits.count + d] = c.limb(converter.source(i));
    }
    for (int t = 0; t < converter.target_count(); ++t) {
      const int j = limb_of(ring, digits.basis, converter.target(t));
      digits.limbs[j * digits.count + d] = extension.data() + static_cast<size_t>(t) * n;
    }
  }

  // y_i: coefficients of c, multiplied by (D/q_i)^{-1}.
  Buffer y(static_cast<size_t>(level + 1) * n);
  parallel_for(0, static_cast<size_t>(level) + 1, [&](size_t index) {
    const int j = static_cast<int>(index);
    int d = 0;
    while (context_.digit(d, level).end <= j) ++d;
    uint64_t* limb = y.data() + index * n;
    k.scale(limb, c.limb(j), converters[d]->premultiplier(j - context_.digit(d, level).begin), n, ring.q(j));
    k.ntt_inverse(limb, ring.ntt(j));
  });

  const size_t stretch = std::min(n, kStretch), stretches = n / stretch;
  parallel_for(0, static_cast<size_t>(digits.count) * stretches, [&](size_t index) {
    const size_t d = index / stretches, begin = index % stretches * stretch;
    const BasisConverter& converter = *converters[d];
    std::array<const uint64_t*, kMaxLimbs> in;
    std::array<uint64_t*, kMaxLimbs> out;
    for (int i = 0; i < converter.source_count(); ++i)
      in[i] = y.data() + static_cast<size_t>(converter.source(i)) * n;
    for (int t = 0; t < converter.target_count(); ++t) {
      out[t] = digits.extensions[d].data() + static_cast<size_t>(t) * n;
    }
    converter.convert(out.data(), in.data(), begin, begin + stretch);
  });

  parallel_for(0, static_cast<size_t>(digits.basis.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    const int prime = ring.prime_index(digits.basis, j);
    for (int d = 0; d < digits.count; ++d) {
      const DigitRange own = context_.digit(d, level);
      if (prime >= own.begin && prime < own.end) continue;
      const size_t t = static_cast<size_t>(prime < own.begin ? j : j - (own.end - own.begin));
      k.ntt_forward(digits.extensions[d].data() + t * n, ring.ntt(prime));
    }
  });
  return digits;
}

void KeySwitcher::inner_product_limb(const Digits& digits, const KeySwitchKey& key, int j, uint64_t* out0,
                                     uint64_t* out1) const {
  const Basis basis = digits.basis;
  PSM_CHECK(key.p_count == basis.p && key.level + 1 >= basis.q &&
                static_cast<int>(key.digits.size()) >= digits.count,
            "key level ", key.level, " basis ", basis.q, "+", basis.p);
  const Ring& ring = context_.ring();
  std::array<const uint64_t*, kMaxLimbs> b0, b1;
  const int key_limb = j < basis.q ? j : key.level + 1 + j - basis.q;
  for (int d = 0; d < digits.count; ++d) {
    b0[d] = key.digits[d].b.limb(key_limb);
    b1[d] = key.digits[d].a.limb(key_limb);
  }
  kernels().inner_product_pair(out0, out1, digits.limb(j), b0.data(), b1.data(),
                               static_cast<size_t>(digits.count), ring.n(),
                               ring.modulus(ring.prime_index(basis, j)), false);
}

std::array<RnsPoly, 2> KeySwitcher::switch_key(const Digits& digits, const KeySwitchKey& key,
                                               const Options& options) const {
  const Ring& ring = context_.ring();
  const size_t n = ring.n();
  const Basis basis = digits.basis;
  const BasisConverter& converter =
      this->converter(options.rescale ? kModDownRescale : kModDown, basis.q - 1, 0, basis.p);
  const auto table =
      options.automorphism == 1 ? nullptr : automorphism_table(options.automorphism, ring.log_n());
  return divide<2>(
      ring, converter, table.get(), [&](int prime, uint64_t* scratch, std::array<const uint64_t*, 2>& limbs) {
        uint64_t* sums[2] = {scratch, scratch + n};
        inner_product_limb(digits, key, limb_of(ring, basis, prime), sums[0], sums[1]);
        const RnsPoly* addends[2] = {options.addend0, options.addend1};
        for (size_t i = 0; i < 2; ++i) {
          limbs[i] = sums[i];
          if (addends[i] == nullptr || prime >= basis.q) continue;
          kernels().scale_add(sums[i], addends[i]->limb(prime), p_product(prime, basis.p), n, ring.q(prime));
        }
      });
}

std::array<RnsPoly, 2> KeySwitcher::mod_down(const RnsPoly& x0, const RnsPoly& x1, bool rescale) const {
  PSM_CHECK(x0.form() == Form::kNtt && x0.basis().p > 0 && x0.basis() == x1.basis());
  const Basis basis = x0.basis();
  const BasisConverter& converter =
      this->converter(rescale ? kModDownRescale : kModDown, basis.q - 1, 0, basis.p);
  return divide<2>(context_.ring(), converter, nullptr,
                   [&](int prime, uint64_t*, std::array<const uint64_t*, 2>& limbs) {
                     const int j = limb_of(context_.ring(), basis, prime);
                     limbs = {x0.limb(j), x1.limb(j)};
                   });
}

RnsPoly KeySwitcher::mod_down(const RnsPoly& x) const {
  PSM_CHECK(x.form() == Form::kNtt && x.basis().p > 0);
  const BasisConverter& converter = this->converter(kModDown, x.basis().q - 1, 0, x.basis().p);
  auto result = divide<1>(context_.ring(), converter, nullptr,
                          [&](int prime, uint64_t*, std::array<const uint64_t*, 1>& limbs) {
                            limbs[0] = x.limb(limb_of(context_.ring(), x.basis(), prime));
                          });
  return std::move(result[0]);
}

std::array<RnsPoly, 2> KeySwitcher::rescale(const RnsPoly& x0, const RnsPoly& x1) const {
  PSM_CHECK(x0.form() == Form::kNtt && x0.basis().p == 0 && x0.basis().q > 1 && x0.basis() == x1.basis());
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const int level = x0.basis().q - 1;
  const Modulus& q = ring.q(level);
  const RnsPoly* x[2] = {&x0, &x1};
  Buffer last(2 * n);
  parallel_for(0, 2, [&](size_t i) {
    std::copy_n(x[i]->limb(level), n, last.data() + i * n);
    k.ntt_inverse(last.data() + i * n, ring.ntt(level));
  });
  std::array<RnsPoly, 2> result = {RnsPoly(ring, {level, 0}, Form::kNtt),
                                   RnsPoly(ring, {level, 0}, Form::kNtt)};
  parallel_for(0, static_cast<size_t>(level), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = ring.q(j);
    const Multiplier inverse = make_multiplier(inverse_mod(reduce_mod(q.q, m), m), m);
    for (size_t i = 0; i < 2; ++i) {
      uint64_t* limb = result[i].limb(j);
      k.reduce_centered(limb, last.data() + i * n, n, q, m);
      k.ntt_forward(limb, ring.ntt(j));
      k.subtract_scale(limb, x[i]->limb(j), limb, inverse, n, m);
    }
  });
  return result;
}

}  // namespace psm
