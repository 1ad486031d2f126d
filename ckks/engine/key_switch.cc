#include "ckks/engine/key_switch.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// Coefficients a thread converts at a time.
constexpr size_t kStretch = 2048;
// Residues of a sum of products that stay in the first-level cache.
constexpr size_t kTile = 512;
constexpr size_t kMaxLimbs = 64;

// A change of basis of one polynomial, whole limbs: out[t] from y[s], the results of inverse_transform(s).
struct Conversion {
  const BasisConverter* converter;
  std::vector<const uint64_t*> y;
  std::vector<uint64_t*> out;
};

void convert(const std::vector<Conversion>& conversions, size_t n) {
  const size_t stretch = std::min(n, kStretch), stretches = n / stretch;
  parallel_for(0, conversions.size() * stretches, [&](size_t index) {
    const Conversion& c = conversions[index / stretches];
    const size_t begin = index % stretches * stretch;
    c.converter->convert(c.out.data(), c.y.data(), begin, begin + stretch);
  });
}

// What a division by D, the product of the converter's sources, subtracts from each polynomial x before it is
// exact: round(x / D) = (x - [x]_D) / D.
class Remainders {
 public:
  Remainders(const BasisConverter& converter, size_t polys, size_t n)
      : converter_(converter),
        polys_(polys),
        n_(n),
        sources_(static_cast<size_t>(converter.source_count())),
        targets_(static_cast<size_t>(converter.target_count())),
        residues_(polys * sources_ * n),
        remainders_(polys * targets_ * n) {}

  size_t sources() const { return sources_; }
  size_t targets() const { return targets_; }
  // x_i modulo source s, to be written by inverse_transform(s).
  uint64_t* residues(size_t i, size_t s) { return residues_.data() + (i * sources_ + s) * n_; }
  // [x_i]_D modulo target j, as coefficients.
  uint64_t* remainder(size_t i, size_t j) { return remainders_.data() + (i * targets_ + j) * n_; }

  // Makes the remainders from the residues.
  void convert() {
    std::vector<Conversion> conversions;
    for (size_t i = 0; i < polys_; ++i) {
      Conversion& c = conversions.emplace_back(&converter_);
      for (size_t s = 0; s < sources_; ++s) c.y.push_back(residues(i, s));
      for (size_t j = 0; j < targets_; ++j) c.out.push_back(remainder(i, j));
    }
    psm::ckks::convert(conversions, n_);
  }

 private:
  const BasisConverter& converter_;
  size_t polys_, n_, sources_, targets_;
  Buffer residues_, remainders_;
};

// round(x / D) for polynomials of one basis, D the product of the converter's sources.
template <size_t kPolys>
std::array<RnsPoly, kPolys> divide(const Ring& ring, const BasisConverter& converter,
                                   const std::array<const RnsPoly*, kPolys>& x) {
  const Kernels& k = kernels();
  const size_t n = ring.n();
  Remainders remainders(converter, kPolys, n);
  parallel_for(0, remainders.sources(), [&](size_t index) {
    const int s = static_cast<int>(index), j = ring.limb_of(x[0]->basis(), converter.source(s));
    for (size_t i = 0; i < kPolys; ++i) {
      k.ntt_inverse(remainders.residues(i, index), x[i]->limb(j), converter.inverse_transform(s));
    }
  });
  remainders.convert();

  std::array<RnsPoly, kPolys> result;
  for (RnsPoly& poly : result) poly = RnsPoly(ring, {converter.target_count(), 0}, Form::kNtt);
  parallel_for(0, remainders.targets(), [&](size_t index) {
    const int j = static_cast<int>(index);
    for (size_t i = 0; i < kPolys; ++i) {
      uint64_t* remainder = remainders.remainder(i, index);
      k.ntt_forward(remainder, remainder, ring.ntt(j));
      k.subtract_scale(result[i].limb(j), x[i]->limb(j), remainder, converter.inverse_product(j), n,
                       ring.q(j));
    }
  });
  return result;
}

}  // namespace

KeySwitcher::KeySwitcher(const Context& context) : context_(context), converters_(context) {}

Digits KeySwitcher::split(const RnsPoly& c, int p_count) const {
  const Kernels& k = kernels();
  const size_t n = context_.ring().n();
  const Level level = level_of(c.basis());
  Digits digits = room_for_digits(context_, c, p_count);
  std::vector<const BasisConverter*> converters;
  for (int d = 0; d < digits.count; ++d) converters.push_back(&converters_.mod_up(level, d, p_count));

  // y_i: coefficients of c, multiplied by (D/q_i)^{-1}.
  Buffer y(static_cast<size_t>(level + 1) * n);
  parallel_for(0, static_cast<size_t>(level) + 1, [&](size_t index) {
    const int j = static_cast<int>(index);
    int d = 0;
    while (context_.digit(d, level).end <= j) ++d;
    uint64_t* limb = y.data() + index * n;
    k.ntt_inverse(limb, c.limb(j), converters[d]->inverse_transform(j - context_.digit(d, level).begin));
  });

  std::vector<Conversion> conversions;
  for (int d = 0; d < digits.count; ++d) {
    Conversion& c = conversions.emplace_back(converters[d]);
    for (int i = 0; i < converters[d]->source_count(); ++i) {
      c.y.push_back(y.data() + static_cast<size_t>(converters[d]->source(i)) * n);
    }
    for (int t = 0; t < converters[d]->target_count(); ++t) {
      c.out.push_back(digits.extensions[d].data() + static_cast<size_t>(t) * n);
    }
  }
  convert(conversions, n);
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
      const DigitRange own = context_.digit(d, level_of(digits.basis));
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

KeySwitcher::DigitLimbs KeySwitcher::transformed_limb(const Digits& digits, int j) const {
  const Ring& ring = context_.ring();
  const int prime = ring.prime_index(digits.basis, j);
  const size_t count = static_cast<size_t>(digits.count);
  DigitLimbs result{Buffer(digits.transformed ? 0 : count * ring.n()),
                    {digits.limb(j), digits.limb(j) + count}};
  if (digits.transformed) return result;
  for (int d = 0; d < digits.count; ++d) {
    const DigitRange own = context_.digit(d, level_of(digits.basis));
    if (prime >= own.begin && prime < own.end) continue;
    uint64_t* transform = result.room.data() + static_cast<size_t>(d) * ring.n();
    kernels().ntt_forward(transform, result.limbs[d], ring.ntt(prime));
    result.limbs[d] = transform;
  }
  return result;
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
  const int special = j - digits.basis.q, key_limb = special < 0 ? j : int{key.level} + 1 + special;
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
                                               const SwitchOptions& options) const {
  return switch_key(split(c, key.p_count), key, options);
}

std::array<RnsPoly, 2> KeySwitcher::switch_key(const Digits& digits, const KeySwitchKey& key,
                                               const SwitchOptions& options) const {
  check_key(digits, key);
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const Basis basis = digits.basis;
  const BasisConverter& converter = options.rescale ? converters_.mod_down_rescale(level_of(basis), basis.p)
                                                    : converters_.mod_down(level_of(basis), basis.p);
  const auto table =
      options.automorphism == 1 ? nullptr : automorphism_table(options.automorphism, ring.log_n());
  const std::array<const RnsPoly*, 2> addends = {options.addend0, options.addend1};

  // Places [begin, end) of limb j of the two sums to be divided. Divided by P alone, P a_i comes out as a_i
  // and is added then; divided by P q_l it has to go in.
  const auto dividends = [&](const DigitLimbs& digit, int j, size_t begin, size_t end, uint64_t* out0,
                             uint64_t* out1) {
    inner_product(digits, digit.limbs.data(), key, j, begin, end, out0, out1);
    if (!options.rescale || j >= basis.q) return;
    const Multiplier& p = converters_.p_product(j, basis.p);
    if (addends[0]) k.scale_add(out0, addends[0]->limb(j) + begin, p, end - begin, ring.q(j));
    if (addends[1]) k.scale_add(out1, addends[1]->limb(j) + begin, p, end - begin, ring.q(j));
  };

  Remainders remainders(converter, 2, n);
  parallel_for(0, remainders.sources(), [&](size_t index) {
    const int s = static_cast<int>(index), j = ring.limb_of(basis, converter.source(s));
    uint64_t* const residues[2] = {remainders.residues(0, index), remainders.residues(1, index)};
    dividends(transformed_limb(digits, j), j, 0, n, residues[0], residues[1]);
    for (uint64_t* x : residues) k.ntt_inverse(x, x, converter.inverse_transform(s));
  });
  remainders.convert();

  std::array<RnsPoly, 2> result;
  for (RnsPoly& poly : result) poly = RnsPoly(ring, {converter.target_count(), 0}, Form::kNtt);
  parallel_for(0, remainders.targets(), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = ring.q(j);
    const Multiplier& inverse = converter.inverse_product(j);
    uint64_t* const remainder[2] = {remainders.remainder(0, index), remainders.remainder(1, index)};
    for (uint64_t* x : remainder) k.ntt_forward(x, x, ring.ntt(j));
    const DigitLimbs digit = transformed_limb(digits, j);
    alignas(64) uint64_t dividend[2][kTile], quotient[kTile];
    const size_t tile = std::min(n, kTile);
    for (size_t to = 0; to < n; to += tile) {
      const size_t begin = table ? table->source_begin(to, tile) : to;
      dividends(digit, j, begin, begin + tile, dividend[0], dividend[1]);
      for (int i : {0, 1}) {
        uint64_t* const out = result[i].limb(j) + to;
        uint64_t* const divided = table ? quotient : out;
        if (addends[i] && !options.rescale) {
          k.subtract_scale_add(divided, dividend[i], remainder[i] + begin, inverse,
                               addends[i]->limb(j) + begin, tile, m);
        } else {
          k.subtract_scale(divided, dividend[i], remainder[i] + begin, inverse, tile, m);
        }
        if (table) k.automorphism(out, divided, table->tile(to, tile));
      }
    }
  });
  return result;
}

RnsPoly KeySwitcher::mod_down(const RnsPoly& x) const {
  PSM_CHECK(x.form() == Form::kNtt && x.basis().p > 0);
  return std::move(
      divide<1>(context_.ring(), converters_.mod_down(level_of(x.basis()), x.basis().p), {&x})[0]);
}

std::array<RnsPoly, 2> KeySwitcher::mod_down(const RnsPoly& x0, const RnsPoly& x1) const {
  PSM_CHECK(x0.form() == Form::kNtt && x0.basis().p > 0 && x0.basis() == x1.basis());
  return divide<2>(context_.ring(), converters_.mod_down(level_of(x0.basis()), x0.basis().p), {&x0, &x1});
}

std::array<RnsPoly, 2> KeySwitcher::mod_down_rescale(const RnsPoly& x0, const RnsPoly& x1) const {
  PSM_CHECK(x0.form() == Form::kNtt && x0.basis().p > 0 && x0.basis() == x1.basis());
  return divide<2>(context_.ring(), converters_.mod_down_rescale(level_of(x0.basis()), x0.basis().p),
                   {&x0, &x1});
}

std::vector<std::array<RnsPoly, 2>> KeySwitcher::mod_down_rescale(Basis basis, size_t count,
                                                                  const Tiles& tiles) const {
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n(), tile = std::min(n, kMaxTile);
  const BasisConverter& converter = converters_.mod_down_rescale(level_of(basis), basis.p);
  Remainders remainders(converter, 2 * count, n);
  parallel_for(0, remainders.sources(), [&](size_t index) {
    const int s = static_cast<int>(index), j = ring.limb_of(basis, converter.source(s));
    for (size_t begin = 0; begin < n; begin += tile) {
      for (size_t i = 0; i < count; ++i) {
        tiles(i, j, begin, tile, remainders.residues(2 * i, index) + begin,
              remainders.residues(2 * i + 1, index) + begin);
      }
    }
    for (size_t poly = 0; poly < 2 * count; ++poly) {
      uint64_t* x = remainders.residues(poly, index);
      k.ntt_inverse(x, x, converter.inverse_transform(s));
    }
  });
  remainders.convert();

  std::vector<std::array<RnsPoly, 2>> result(count);
  for (auto& pair : result) {
    for (RnsPoly& poly : pair) poly = RnsPoly(ring, {converter.target_count(), 0}, Form::kNtt);
  }
  parallel_for(0, remainders.targets(), [&](size_t index) {
    const int j = static_cast<int>(index);
    for (size_t poly = 0; poly < 2 * count; ++poly) {
      uint64_t* x = remainders.remainder(poly, index);
      k.ntt_forward(x, x, ring.ntt(j));
    }
    alignas(64) uint64_t dividend[2][kMaxTile];
    for (size_t begin = 0; begin < n; begin += tile) {
      for (size_t i = 0; i < count; ++i) {
        tiles(i, j, begin, tile, dividend[0], dividend[1]);
        for (size_t half : {0, 1}) {
          k.subtract_scale(result[i][half].limb(j) + begin, dividend[half],
                           remainders.remainder(2 * i + half, index) + begin, converter.inverse_product(j),
                           tile, ring.q(j));
        }
      }
    }
  });
  return result;
}

std::array<RnsPoly, 2> KeySwitcher::rescale(const RnsPoly& x0, const RnsPoly& x1) const {
  PSM_CHECK(x0.form() == Form::kNtt && x0.basis().p == 0 && x0.basis().q > 1 && x0.basis() == x1.basis());
  const Ring& ring = context_.ring();
  const Kernels& k = kernels();
  const size_t n = ring.n();
  const Level level = level_of(x0.basis());
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
    const Multiplier inverse = make_multiplier(inverse_mod(reduce_mod(q.value, m), m), m);
    uint64_t* limb = result[i].limb(j);
    k.reduce_centered(limb, last.data() + i * n, n, q, m);
    k.ntt_forward(limb, limb, ring.ntt(j));
    k.subtract_scale(limb, x[i]->limb(j), limb, inverse, n, m);
  });
  return result;
}

}  // namespace psm::ckks
