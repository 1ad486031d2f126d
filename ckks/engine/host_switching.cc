// Digits, divisions, key switching, and sums over rotations before their division by P.
#include <algorithm>
#include <bit>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/engine/host_engine.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// Coefficients a thread converts at a time.
constexpr size_t kStretch = 2048;
constexpr size_t kMaxLimbs = 64;
// Parts of a limb that threads may take, where each part has a buffer of its own.
constexpr size_t kParts = 8;
// Both polynomials of a block's sources, a tile of each, are half of a second-level cache: 512 KiB.
constexpr size_t kBlockWords = size_t{1} << 16;

// f(j) for every limb, in parallel. A last limb that would leave one thread to work alone is shared out instead: f
// runs outside of a loop then, and its own loops in parallel.
template <typename Function>
void share_limbs(int limbs, const Function& f) {
  const int alone = limbs % thread_count() == 1 ? 1 : 0;
  parallel_for(0, limbs - alone, f);
  if (alone != 0) f(limbs - 1);
}

// f(begin) for every tile.
template <typename Function>
void for_each_tile(size_t n, size_t size, const Function& f) {
  parallel_for(0, n / size, [&](size_t tile) { f(tile * size); });
}

// A change of basis of one polynomial, whole limbs (BasisConverter::convert).
struct Conversion {
  const BasisConverter* converter;
  const uint64_t* y;
  uint64_t* out;
};

void convert(const std::vector<Conversion>& conversions, size_t n) {
  const size_t stretch = std::min(n, kStretch), stretches = n / stretch;
  parallel_for(0, conversions.size() * stretches, [&](size_t index) {
    const Conversion& c = conversions[index / stretches];
    const size_t begin = index % stretches * stretch;
    c.converter->convert(c.out, c.y, n, begin, begin + stretch);
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
        residues_(polys * static_cast<size_t>(converter.source_count()) * n),
        remainders_(polys * static_cast<size_t>(converter.target_count()) * n) {}

  // x_i modulo source s, to be written by inverse_transform(s).
  uint64_t* residues(size_t i, int s) { return residues_.data() + place(i, converter_.source_count(), s); }
  // [x_i]_D modulo target j, as coefficients.
  uint64_t* remainder(size_t i, int j) { return remainders_.data() + place(i, converter_.target_count(), j); }

  // Makes the remainders from the residues.
  void convert() {
    std::vector<Conversion> conversions;
    for (size_t i = 0; i < polys_; ++i) conversions.push_back({&converter_, residues(i, 0), remainder(i, 0)});
    psm::ckks::convert(conversions, n_);
  }

 private:
  size_t place(size_t i, int limbs, int j) const {
    return (i * static_cast<size_t>(limbs) + static_cast<size_t>(j)) * n_;
  }

  const BasisConverter& converter_;
  size_t polys_, n_;
  Buffer residues_, remainders_;
};

}  // namespace

// ---- digits ----------------------------------------------------------------------------------------------

Digits HostEngine::split(const RnsPoly& c, int p_count) const {
  const size_t n = ring().n();
  const Level level = level_of(c.basis());
  Digits digits = room_for_digits(context(), c, p_count);
  std::vector<const BasisConverter*> converters;
  for (int d = 0; d < digits.count; ++d) converters.push_back(&converters_.mod_up(level, d, p_count));

  // y_i: coefficients of c, multiplied by (D/q_i)^{-1}.
  Buffer y(static_cast<size_t>(level + 1) * n);
  parallel_for(0, c.limbs(), [&](int j) {
    int d = 0;
    while (context().digit(d, level).end <= j) ++d;
    uint64_t* limb = y.data() + static_cast<size_t>(j) * n;
    kernels().ntt_inverse(limb, c.limb(j),
                          converters[d]->inverse_transform(j - context().digit(d, level).begin));
  });

  std::vector<Conversion> conversions;
  for (int d = 0; d < digits.count; ++d) {
    const auto first = static_cast<size_t>(context().digit(d, level).begin);
    conversions.push_back({converters[d], y.data() + first * n, digits.extensions[d].data()});
  }
  convert(conversions, n);
  return digits;
}

Digits HostEngine::decompose(const RnsPoly& c, int p_count, bool raised) const {
  if (raised) return raised_digit(c, p_count);
  Digits digits = split(c, p_count);
  // One transform an iteration, those modulo one prime after another, so that its roots are read once.
  struct Task {
    uint64_t* limb;
    int prime;
  };
  std::vector<Task> tasks;
  for (int j = 0; j < digits.basis.limbs(); ++j) {
    const int prime = ring().prime_index(digits.basis, j);
    for (int d = 0; d < digits.count; ++d) {
      const DigitRange own = digits.own(context(), d);
      if (prime >= own.begin && prime < own.end) continue;
      const size_t t = static_cast<size_t>(prime < own.begin ? j : j - (own.end - own.begin));
      tasks.push_back({digits.extensions[d].data() + t * ring().n(), prime});
    }
  }
  parallel_for(0, tasks.size(), [&](size_t i) {
    kernels().ntt_forward(tasks[i].limb, tasks[i].limb, ring().ntt(tasks[i].prime));
  });
  digits.transformed = true;
  return digits;
}

Digits HostEngine::raised_digit(const RnsPoly& c, int p_count) const {
  Digits digits = room_for_digits(context(), c, p_count, true);
  RnsPoly coefficients = c.clone_prefix({1, 0});
  to_coefficients(coefficients);
  parallel_for(0, p_count, [&](int k) {
    uint64_t* const to = digits.extensions[0].data() + static_cast<size_t>(k) * ring().n();
    kernels().reduce_centered(to, coefficients.limb(0), ring().n(), ring().q(0), ring().p(k));
    kernels().ntt_forward(to, to, ring().ntt(ring().q_count() + k));
  });
  digits.transformed = true;
  return digits;
}

HostEngine::DigitLimbs HostEngine::transformed_limb(const Digits& digits, int j) const {
  const int prime = ring().prime_index(digits.basis, j);
  const size_t count = static_cast<size_t>(digits.count);
  DigitLimbs result{Buffer(digits.transformed ? 0 : count * ring().n()),
                    {digits.limb(j), digits.limb(j) + count}};
  if (digits.transformed) return result;
  parallel_for(0, digits.count, [&](int d) {
    const DigitRange own = digits.own(context(), d);
    if (prime >= own.begin && prime < own.end) return;
    uint64_t* transform = result.room.data() + static_cast<size_t>(d) * ring().n();
    kernels().ntt_forward(transform, result.limbs[d], ring().ntt(prime));
    result.limbs[d] = transform;
  });
  return result;
}

void HostEngine::inner_product(const Digits& digits, const uint64_t* const* limbs, const KeySwitchKey& key,
                               int j, size_t begin, size_t size, uint64_t* out0, uint64_t* out1) const {
  PSM_CHECK(key.p_count == digits.basis.p && key.level + 1 >= digits.basis.q &&
                static_cast<int>(key.digits.size()) >= digits.count,
            "key level ", key.level, " basis ", digits.basis.q, "+", digits.basis.p);
  std::array<const uint64_t*, kMaxLimbs> digit;
  std::array<const uint8_t*, kMaxLimbs> b, a;
  const int special = j - digits.basis.q, key_limb = special < 0 ? j : int{key.level} + 1 + special;
  for (int d = 0; d < digits.count; ++d) {
    digit[d] = limbs[d] + begin;
    b[d] = key.digits[d].b.residues(key_limb, begin);
    a[d] = key.digits[d].a.residues(key_limb, begin);
  }
  kernels().packed_inner_product_pair(out0, out1, digit.data(), b.data(), a.data(),
                                      static_cast<size_t>(digits.count), size,
                                      ring().modulus(ring().prime_index(digits.basis, j)));
}

// ---- divisions -------------------------------------------------------------------------------------------

template <size_t kPolys>
std::array<RnsPoly, kPolys> HostEngine::divide_by(const BasisConverter& by,
                                                  const std::array<const RnsPoly*, kPolys>& x) const {
  const Kernels& k = kernels();
  Remainders remainders(by, kPolys, ring().n());
  const auto of_each = [&](int limbs, const auto& f) {
    parallel_for(0, kPolys * static_cast<size_t>(limbs),
                 [&](size_t index) { f(index % kPolys, static_cast<int>(index / kPolys)); });
  };
  of_each(by.source_count(), [&](size_t i, int s) {
    const int j = ring().limb_of(x[0]->basis(), by.source(s));
    k.ntt_inverse(remainders.residues(i, s), x[i]->limb(j), by.inverse_transform(s));
  });
  remainders.convert();

  std::array<RnsPoly, kPolys> result;
  for (RnsPoly& poly : result) poly = RnsPoly(ring(), {by.target_count(), 0}, Form::kNtt);
  of_each(by.target_count(), [&](size_t i, int j) {
    uint64_t* const remainder = remainders.remainder(i, j);
    k.ntt_forward(remainder, remainder, ring().ntt(j));
    k.subtract_scale(result[i].limb(j), x[i]->limb(j), remainder, by.inverse_product(j), ring().n(),
                     ring().q(j));
  });
  return result;
}

template <class Limb>
std::vector<Engine::Pair> HostEngine::divide_made(const BasisConverter& by, Basis basis, size_t count,
                                                  size_t most, const Limb& limb,
                                                  const SwitchOptions& after) const {
  const Kernels& k = kernels();
  const size_t n = ring().n(), size = tile();
  const auto table =
      after.automorphism == 1 ? nullptr : automorphism_table(after.automorphism, ring().log_n());
  const RnsPoly* const addends[2] = {after.addend0, after.addend1};
  Remainders remainders(by, 2 * count, n);
  share_limbs(by.source_count(), [&](int s) {
    const auto make = limb(ring().limb_of(basis, by.source(s)));
    for_each_tile(n, most, [&](size_t begin) {
      for (size_t i = 0; i < count; ++i)
        make(i, begin, most, remainders.residues(2 * i, s) + begin,
             remainders.residues(2 * i + 1, s) + begin);
    });
    parallel_for(0, 2 * count, [&](size_t poly) {
      uint64_t* const x = remainders.residues(poly, s);
      k.ntt_inverse(x, x, by.inverse_transform(s));
    });
  });
  remainders.convert();

  std::vector<Pair> result;
  for (size_t i = 0; i < count; ++i) result.push_back(make_pair({by.target_count(), 0}));
  share_limbs(by.target_count(), [&](int j) {
    const Modulus& q = ring().q(j);
    const Multiplier& inverse = by.inverse_product(j);
    parallel_for(0, 2 * count, [&](size_t poly) {
      uint64_t* const remainder = remainders.remainder(poly, j);
      k.ntt_forward(remainder, remainder, ring().ntt(j));
    });
    const auto make = limb(j);
    for_each_tile(n, size, [&](size_t to) {
      alignas(64) uint64_t dividend[2][kTile], quotient[kTile];
      const size_t begin = table ? table->source_begin(to, size) : to;
      for (size_t i = 0; i < count; ++i) {
        make(i, begin, size, dividend[0], dividend[1]);
        for (const size_t p : {0, 1}) {
          const uint64_t* const remainder = remainders.remainder(2 * i + p, j) + begin;
          uint64_t* const out = result[i][p].limb(j) + to;
          uint64_t* const divided = table ? quotient : out;
          if (addends[p] != nullptr) {
            k.subtract_scale_add(divided, dividend[p], remainder, inverse, addends[p]->limb(j) + begin, size,
                                 q);
          } else {
            k.subtract_scale(divided, dividend[p], remainder, inverse, size, q);
          }
          if (table) k.automorphism(out, divided, table->tile(to, size));
        }
      }
    });
  });
  return result;
}

Engine::Pair HostEngine::divide(const std::array<RnsPoly, 2>& x, Basis to) const {
  const Basis from = x[0].basis();
  const bool rescales = to.q == from.q - 1;
  PSM_CHECK(x[0].form() == Form::kNtt && from == x[1].basis() && to.p == 0 &&
                (rescales || (to.q == from.q && from.p > 0)),
            "from ", from.q, "+", from.p, " to ", to.q, "+", to.p);
  if (from.p == 0) return divide_by_last(x);
  return divide_by<2>(converters_.mod_down(level_of(from), from.p, rescales), {&x[0], &x[1]});
}

// ---- key switching ---------------------------------------------------------------------------------------

Engine::Pair HostEngine::switch_key(const Digits& digits, const KeySwitchKey& key,
                                    const SwitchOptions& options) const {
  const Basis basis = digits.basis;
  // Divided by P alone, P a_i comes out as a_i and is added then; divided by P q_l it has to go in.
  SwitchOptions inside = options, after = options;
  (options.rescale ? after : inside).addend0 = nullptr;
  (options.rescale ? after : inside).addend1 = nullptr;
  const auto limb = [&](int j) {
    return [&, j, digit = transformed_limb(digits, j)](size_t, size_t begin, size_t size, uint64_t* x0,
                                                       uint64_t* x1) {
      inner_product(digits, digit.limbs.data(), key, j, begin, size, x0, x1);
      const RnsPoly* const addends[2] = {inside.addend0, inside.addend1};
      for (const size_t i : {0, 1}) {
        if (addends[i] == nullptr || j >= basis.q) continue;
        kernels().scale_add(i == 0 ? x0 : x1, addends[i]->limb(j) + begin, converters_.p_product(j, basis.p),
                            size, ring().q(j));
      }
    };
  };
  return std::move(divide_made(converters_.mod_down(level_of(basis), basis.p, options.rescale), basis, 1,
                               ring().n(), limb, after)[0]);
}

// ---- sums over rotations, tile by tile: a tile of each of many stays in the cache until all sums have read it ----

// With g = 1 it is P times the ciphertext.
void HostEngine::switched_tile(const SwitchedSource& from, int j, size_t begin, size_t size, uint64_t* c0,
                               uint64_t* c1) const {
  PSM_CHECK(size <= kTile && begin % size == 0, "tile ", begin, " ", size);
  const Ciphertext& source = *from.from->source;
  const GaloisStep& step = *from.step;
  const Kernels& k = kernels();
  const Level level = from.from->level();
  const Multiplier* const p = j <= level ? &converters_.p_product(j, context().p_count(level)) : nullptr;
  if (step.key == nullptr) {
    for (const int i : {0, 1}) {
      uint64_t* const out = i == 0 ? c0 : c1;
      if (p != nullptr) {
        k.scale(out, source.c[i].limb(j) + begin, *p, size, ring().q(j));
      } else {
        std::fill_n(out, size, 0);
      }
    }
    return;
  }
  const AutomorphismTable& table = *step.table;
  const Digits& digits = from.from->digits;
  PSM_CHECK(digits.transformed);
  const size_t at = table.source_begin(begin, size);
  alignas(64) uint64_t room[2][kTile];
  uint64_t* const k0 = step.element == 1 ? c0 : room[0];
  uint64_t* const k1 = step.element == 1 ? c1 : room[1];
  inner_product(digits, digits.limb(j), *step.key, j, at, size, k0, k1);
  if (p != nullptr) k.scale_add(k0, source.c[0].limb(j) + at, *p, size, ring().q(j));
  if (step.element == 1) return;
  k.automorphism(c0, k0, table.tile(begin, size));
  k.automorphism(c1, k1, table.tile(begin, size));
}

void HostEngine::add_extended(uint64_t* out, const RnsPoly& x, int j, size_t begin, size_t size,
                              Basis basis) const {
  const Modulus& q = ring().modulus(ring().prime_index(basis, j));
  if (x.basis() == basis) return kernels().add(out, out, x.limb(j) + begin, size, q);
  if (j < basis.q) kernels().scale_add(out, x.limb(j) + begin, converters_.p_product(j, basis.p), size, q);
}

Engine::Pair HostEngine::giant_step(const Pair& x, const GaloisStep& step, const Pair* y) const {
  const Level level = level_of(x[0].basis());
  const Basis basis = extended_basis(level);
  const bool is_extended = x[0].basis().p > 0;
  RnsPoly divided;
  if (is_extended) divided = std::move(divide_by<1>(converters_.mod_down(level, basis.p, false), {&x[1]})[0]);
  const Digits digits = split(is_extended ? divided : x[1], basis.p);
  Pair out = make_pair(basis);
  const size_t size = tile();
  share_limbs(basis.limbs(), [&](int j) {
    const DigitLimbs digit = transformed_limb(digits, j);
    for_each_tile(ring().n(), size, [&](size_t begin) {
      alignas(64) uint64_t k0[kTile], k1[kTile];
      const size_t from = step.table->source_begin(begin, size);
      inner_product(digits, digit.limbs.data(), *step.key, j, from, size, k0, k1);
      add_extended(k0, x[0], j, from, size, basis);
      for (const size_t i : {0, 1}) {
        uint64_t* const to = out[i].limb(j) + begin;
        kernels().automorphism(to, i == 0 ? k0 : k1, step.table->tile(begin, size));
        if (y != nullptr) add_extended(to, (*y)[i], j, begin, size, basis);
      }
    });
  });
  return out;
}

Engine::Pair HostEngine::sum_switched(std::span<const SwitchedSource> sources) const {
  PSM_CHECK(!sources.empty());
  const Basis basis = extended_basis(sources[0].from->level());
  Pair sum = make_pair(basis);
  const size_t size = tile();
  share_limbs(basis.limbs(), [&](int j) {
    const Modulus& q = sum[0].modulus(j);
    for_each_tile(ring().n(), size, [&](size_t begin) {
      alignas(64) uint64_t next0[kTile], next1[kTile];
      uint64_t* c0 = sum[0].limb(j) + begin;
      uint64_t* c1 = sum[1].limb(j) + begin;
      switched_tile(sources[0], j, begin, size, c0, c1);
      for (const SwitchedSource& source : sources.subspan(1)) {
        switched_tile(source, j, begin, size, next0, next1);
        kernels().add(c0, c0, next0, size, q);
        kernels().add(c1, c1, next1, size, q);
      }
    });
  });
  return sum;
}

void HostEngine::accumulate(std::span<const SwitchedSource> sources, const WeightBlock& block, int j,
                            size_t first, size_t last, std::vector<Pair>& sums) const {
  const size_t n = ring().n(), width = static_cast<size_t>(block.last_source - block.first_source);
  const Modulus& q = ring().modulus(ring().prime_index(block.basis, j));
  const size_t size = std::min({last - first, kTile, std::bit_floor(kBlockWords / (2 * width))});
  Buffer switched(2 * width * size);  // both polynomials of every source of the block
  std::vector<uint64_t*> out;
  std::vector<const uint64_t*> in, plain;
  for (size_t begin = first; begin < last; begin += size) {
    for (int s = block.first_source; s < block.last_source; ++s) {
      uint64_t* c0 = switched.data() + 2 * (s - block.first_source) * size;
      if (block.basis.p > 0) {
        switched_tile(sources[s], j, begin, size, c0, c0 + size);
        continue;
      }
      for (size_t half : {0, 1})
        std::copy_n(sources[s].from->source->c[half].limb(j) + begin, size, c0 + half * size);
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
  for (const WeightTile& tile : block.tiles) {
    for (const int sum : tile.sums) {
      if (sums[sum][0].empty()) sums[sum] = make_pair(block.basis);
    }
  }
  const size_t part = std::max(ring().n() / kParts, tile());
  share_limbs(block.basis.limbs(), [&](int j) {
    for_each_tile(ring().n(), part,
                  [&](size_t begin) { accumulate(sources, block, j, begin, begin + part, sums); });
  });
}

std::vector<Engine::Pair> HostEngine::divide_weighted(std::span<const SwitchedSource> sources,
                                                      std::span<const Plaintext* const> weights) const {
  const Basis basis = extended_basis(sources[0].from->level());
  const auto limb = [&](int j) {
    return [&, j](size_t i, size_t begin, size_t size, uint64_t* x0, uint64_t* x1) {
      alignas(64) uint64_t switched[2][kTile];
      switched_tile(sources[i], j, begin, size, switched[0], switched[1]);
      weights[i]->multiply_limb(x0, switched[0], j, begin, size);
      weights[i]->multiply_limb(x1, switched[1], j, begin, size);
    };
  };
  return divide_made(converters_.mod_down(level_of(basis), basis.p, true), basis, sources.size(), tile(),
                     limb);
}

}  // namespace psm::ckks
