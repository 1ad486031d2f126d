#include "ckks/scheme/server/key_switch.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm {
namespace {

// Coefficients a thread converts at a time.
constexpr size_t kStretch = 2048;
// Residues of a sum of products that stay in the first-level cache.
constexpr size_t kTile = 512;
constexpr size_t kMaxLimbs = 64;

// The limb of `prime` (an index of the ring) in a polynomial of this basis.
int limb_of(const Ring& ring, Basis basis, int prime) {
  return prime < ring.q_count() ? prime : basis.q + prime - ring.q_count();
}

// round(x / D) (+ addend) for kPolys polynomials x, D = product of the converter's sources:
//     out_j = (x_j - [x]_D) / D (+ addend_j)    modulo each target j,
// followed by an automorphism where a table is given. limb(prime) returns a reader of x modulo that prime:
// reader(begin, end, room, places) sets places[i] to where the residues [begin, end) of x_i are; it may write
// them to room[i].
template <size_t kPolys, typename Limb>
std::array<RnsPoly, kPolys> divide(const Ring& ring, const BasisConverter& converter,
                                   const std::array<const RnsPoly*, kPolys>& addends,
                                   const AutomorphismTable* table, Limb&& limb) {
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const size_t sources = static_cast<size_t>(converter.source_count());
  const size_t targets = static_cast<size_t>(converter.target_count());
  Buffer residues(kPolys * sources * n), corrections(kPolys * targets * n);

  parallel_for(0, sources, [&](size_t s) {
    const auto reader = limb(converter.source(static_cast<int>(s)));
    std::array<uint64_t*, kPolys> room;
    std::array<const uint64_t*, kPolys> places;
    for (size_t i = 0; i < kPolys; ++i) room[i] = residues.data() + (i * sources + s) * n;
    reader(0, n, room, places);
    for (size_t i = 0; i < kPolys; ++i) {
      k.ntt_inverse(room[i], places[i], converter.inverse_transform(static_cast<int>(s)));
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
    const Multiplier inverse = converter.inverse_product(j);
    std::array<uint64_t*, kPolys> correction;
    for (size_t i = 0; i < kPolys; ++i) {
      correction[i] = corrections.data() + (i * targets + index) * n;
      k.ntt_forward(correction[i], correction[i], ring.ntt(j));
    }
    const auto reader = limb(j);
    alignas(64) uint64_t tiles[kPolys][kTile], unmoved[kTile];
    std::array<uint64_t*, kPolys> room;
    std::array<const uint64_t*, kPolys> places;
    for (size_t i = 0; i < kPolys; ++i) room[i] = tiles[i];
    const size_t tile = std::min(n, kTile);
    for (size_t to = 0; to < n; to += tile) {
      const size_t begin = table ? table->source_begin(to, tile) : to;
      reader(begin, begin + tile, room, places);
      for (size_t i = 0; i < kPolys; ++i) {
        uint64_t* const out = result[i].limb(j) + to;
        uint64_t* const quotient = table ? unmoved : out;
        if (addends[i] != nullptr) {
          k.subtract_scale_add(quotient, places[i], correction[i] + begin, inverse,
                               addends[i]->limb(j) + begin, tile, m);
        } else {
          k.subtract_scale(quotient, places[i], correction[i] + begin, inverse, tile, m);
        }
        if (table) k.automorphism(out, quotient, table->tile(to, tile));
      }
    }
  });
  return result;
}

}  // namespace

KeySwitcher::KeySwitcher(const Context& context) : context_(context) {
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

const Multiplier& KeySwitcher::p_product(int j, int p_count) const {
  PSM_CHECK(p_count >= 1 && p_count <= static_cast<int>(p_products_[j].size()), p_count, " special primes");
  return p_products_[j][p_count - 1];
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

Digits KeySwitcher::split(const RnsPoly& c, int p_count) const {
  PSM_CHECK(c.form() == Form::kNtt && c.basis().p == 0);
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const int level = c.basis().q - 1;
  Digits digits{
      .basis = {level + 1, p_count}, .count = context_.digit_count(level), .extensions = {}, .limbs = {}};
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
    k.ntt_inverse(limb, c.limb(j), converters[d]->inverse_transform(j - context_.digit(d, level).begin));
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
  return digits;
}

Digits KeySwitcher::decompose(const RnsPoly& c, int p_count) const {
  Digits digits = split(c, p_count);
  const Ring& ring = context_.ring();
  // One transform an iteration, those modulo one prime after another, so that its roots are read once.
  struct Task {
    uint64_t* limb;
    int prime;
  };
  std::vector<Task> tasks;
  for (int j = 0; j < digits.basis.limbs(); ++j) {
    const int prime = ring.prime_index(digits.basis, j);
    for (int d = 0; d < digits.count; ++d) {
      const DigitRange own = context_.digit(d, digits.basis.q - 1);
      if (prime >= own.begin && prime < own.end) continue;
      const size_t t = static_cast<size_t>(prime < own.begin ? j : j - (own.end - own.begin));
      tasks.push_back({digits.extensions[d].data() + t * ring.n(), prime});
    }
  }
  parallel_for(0, tasks.size(), [&](size_t i) {
    kernels().ntt_forward(tasks[i].limb, tasks[i].limb, ring.ntt(tasks[i].prime));
  });
  digits.transformed = true;
  return digits;
}

void KeySwitcher::transformed_limb(const Digits& digits, int j, uint64_t* room,
                                   const uint64_t** limbs) const {
  const Ring& ring = context_.ring();
  const int prime = ring.prime_index(digits.basis, j);
  for (int d = 0; d < digits.count; ++d) {
    limbs[d] = digits.limb(j)[d];
    const DigitRange own = context_.digit(d, digits.basis.q - 1);
    if (digits.transformed || (prime >= own.begin && prime < own.end)) continue;
    uint64_t* transform = room + static_cast<size_t>(d) * ring.n();
    kernels().ntt_forward(transform, limbs[d], ring.ntt(prime));
    limbs[d] = transform;
  }
}

void KeySwitcher::check_key(const Digits& digits, const KeySwitchKey& key) const {
  PSM_CHECK(key.p_count == digits.basis.p && key.level + 1 >= digits.basis.q &&
                static_cast<int>(key.digits.size()) >= digits.count,
            "key level ", key.level, " basis ", digits.basis.q, "+", digits.basis.p);
}

void KeySwitcher::inner_product(const Digits& digits, const uint64_t* const* limbs, const KeySwitchKey& key,
                                int j, size_t begin, size_t end, uint64_t* out0, uint64_t* out1) const {
  const Ring& ring = context_.ring();
  std::array<const uint64_t*, kMaxLimbs> digit;
  std::array<const uint8_t*, kMaxLimbs> b, a;
  const int key_limb = j < digits.basis.q ? j : key.level + 1 + j - digits.basis.q;
  for (int d = 0; d < digits.count; ++d) {
    digit[d] = limbs[d] + begin;
    b[d] = key.digits[d].b.residues(key_limb, begin);
    a[d] = key.digits[d].a.residues(key_limb, begin);
  }
  kernels().packed_inner_product_pair(out0, out1, digit.data(), b.data(), a.data(),
                                      static_cast<size_t>(digits.count), end - begin,
                                      ring.modulus(ring.prime_index(digits.basis, j)));
}

void KeySwitcher::inner_product(const Digits& digits, const KeySwitchKey& key, int j, size_t begin,
                                size_t end, uint64_t* out0, uint64_t* out1) const {
  PSM_CHECK(digits.transformed);
  check_key(digits, key);
  inner_product(digits, digits.limb(j), key, j, begin, end, out0, out1);
}

std::array<RnsPoly, 2> KeySwitcher::switch_key(const RnsPoly& c, const KeySwitchKey& key,
                                               const Options& options) const {
  return switch_key(split(c, key.p_count), key, options);
}

std::array<RnsPoly, 2> KeySwitcher::switch_key(const Digits& digits, const KeySwitchKey& key,
                                               const Options& options) const {
  check_key(digits, key);
  const Ring& ring = context_.ring();
  const size_t n = ring.n();
  const Basis basis = digits.basis;
  const BasisConverter& converter =
      this->converter(options.rescale ? kModDownRescale : kModDown, basis.q - 1, 0, basis.p);
  const auto table =
      options.automorphism == 1 ? nullptr : automorphism_table(options.automorphism, ring.log_n());
  const std::array<const RnsPoly*, 2> addends = {options.addend0, options.addend1};
  // Divided by P alone, P a_i comes out as a_i; divided by P q_l it has to go in.
  const std::array<const RnsPoly*, 2> after = options.rescale ? std::array<const RnsPoly*, 2>{} : addends;
  return divide<2>(ring, converter, after, table.get(), [&](int prime) {
    const int j = limb_of(ring, basis, prime);
    Buffer transforms(digits.transformed ? 0 : static_cast<size_t>(digits.count) * n);
    std::array<const uint64_t*, kMaxLimbs> limbs;
    transformed_limb(digits, j, transforms.data(), limbs.data());
    return [&, j, prime, limbs, transforms = std::move(transforms)](size_t begin, size_t end,
                                                                    const std::array<uint64_t*, 2>& room,
                                                                    std::array<const uint64_t*, 2>& places) {
      inner_product(digits, limbs.data(), key, j, begin, end, room[0], room[1]);
      for (size_t i = 0; i < 2; ++i) {
        places[i] = room[i];
        if (!options.rescale || addends[i] == nullptr || prime >= basis.q) continue;
        kernels().scale_add(room[i], addends[i]->limb(prime) + begin, p_product(prime, basis.p), end - begin,
                            ring.q(prime));
      }
    };
  });
}

namespace {

// A reader of limbs that are there already.
template <size_t kPolys>
auto stored_limbs(const Ring& ring, const std::array<const RnsPoly*, kPolys>& x) {
  return [&ring, x](int prime) {
    const int j = limb_of(ring, x[0]->basis(), prime);
    return [x, j](size_t begin, size_t, const std::array<uint64_t*, kPolys>&,
                  std::array<const uint64_t*, kPolys>& places) {
      for (size_t i = 0; i < kPolys; ++i) places[i] = x[i]->limb(j) + begin;
    };
  };
}

}  // namespace

std::array<RnsPoly, 2> KeySwitcher::mod_down(const RnsPoly& x0, const RnsPoly& x1, bool rescale) const {
  PSM_CHECK(x0.form() == Form::kNtt && x0.basis().p > 0 && x0.basis() == x1.basis());
  const Basis basis = x0.basis();
  const BasisConverter& converter =
      this->converter(rescale ? kModDownRescale : kModDown, basis.q - 1, 0, basis.p);
  return divide<2>(context_.ring(), converter, {}, nullptr, stored_limbs<2>(context_.ring(), {&x0, &x1}));
}

RnsPoly KeySwitcher::mod_down(const RnsPoly& x) const {
  PSM_CHECK(x.form() == Form::kNtt && x.basis().p > 0);
  const BasisConverter& converter = this->converter(kModDown, x.basis().q - 1, 0, x.basis().p);
  auto result = divide<1>(context_.ring(), converter, {}, nullptr, stored_limbs<1>(context_.ring(), {&x}));
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
  parallel_for(0, 2,
               [&](size_t i) { k.ntt_inverse(last.data() + i * n, x[i]->limb(level), ring.ntt(level)); });
  std::array<RnsPoly, 2> result = {RnsPoly(ring, {level, 0}, Form::kNtt),
                                   RnsPoly(ring, {level, 0}, Form::kNtt)};
  parallel_for(0, 2 * static_cast<size_t>(level), [&](size_t index) {
    const int j = static_cast<int>(index / 2);
    const size_t i = index % 2;
    const Modulus& m = ring.q(j);
    const Multiplier inverse = make_multiplier(inverse_mod(reduce_mod(q.q, m), m), m);
    uint64_t* limb = result[i].limb(j);
    k.reduce_centered(limb, last.data() + i * n, n, q, m);
    k.ntt_forward(limb, limb, ring.ntt(j));
    k.subtract_scale(limb, x[i]->limb(j), limb, inverse, n, m);
  });
  return result;
}

}  // namespace psm
