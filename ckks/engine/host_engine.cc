// Sums, products, ModRaise; key switching is in host_switching.cc.
#include "ckks/engine/host_engine.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// f(poly, limb) for every limb of the polynomials, in parallel; they have one basis.
template <typename Function>
void for_each_limb(std::span<const RnsPoly> polys, Function&& f) {
  const size_t limbs = static_cast<size_t>(polys[0].limbs());
  parallel_for(0, polys.size() * limbs,
               [&](size_t index) { f(index / limbs, static_cast<int>(index % limbs)); });
}

// Whether each of a has the limbs of out, those of special primes at the same places.
void check_operands(std::span<const RnsPoly> out, std::span<const RnsPoly> a) {
  PSM_CHECK(out.size() == a.size(), out.size(), " polynomials from ", a.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const Basis to = out[i].basis(), from = a[i].basis();
    PSM_CHECK(&out[i].ring() == &a[i].ring() && out[i].form() == Form::kNtt && a[i].form() == Form::kNtt &&
                  from.q >= to.q && from.p == to.p && (to.p == 0 || from.q == to.q),
              "basis ", to.q, "+", to.p, " from ", from.q, "+", from.p);
  }
}

Multiplier multiplier_of(int64_t factor, const Modulus& m) {
  return make_multiplier(reduce_signed(factor, m), m);
}

// out += factor a, one limb.
void add_term(uint64_t* out, const uint64_t* a, int64_t factor, size_t n, const Modulus& m) {
  if (factor == 1) return kernels().add(out, out, a, n, m);
  if (factor == -1) return kernels().subtract(out, out, a, n, m);
  kernels().scale_add(out, a, multiplier_of(factor, m), n, m);
}

}  // namespace

void HostEngine::combine(std::span<RnsPoly> out, std::span<const Term> terms) const {
  PSM_CHECK(!terms.empty());
  for (const Term& term : terms) check_operands(out, term.polys);
  const Kernels& k = kernels();
  const size_t n = ring().n();
  for_each_limb(out, [&](size_t i, int j) {
    const Modulus& m = out[i].modulus(j);
    uint64_t* const to = out[i].limb(j);
    const uint64_t* const first = terms[0].polys[i].limb(j);
    size_t t = 1;
    if (terms[0].factor == 1 && terms.size() > 1 && std::abs(terms[1].factor) == 1) {
      (terms[1].factor == 1 ? k.add : k.subtract)(to, first, terms[1].polys[i].limb(j), n, m);
      t = 2;
    } else {
      k.scale(to, first, multiplier_of(terms[0].factor, m), n, m);
    }
    for (; t < terms.size(); ++t) add_term(to, terms[t].polys[i].limb(j), terms[t].factor, n, m);
  });
}

void HostEngine::with_constant(Arithmetic arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                               GaussianInteger z) const {
  const Basis basis = out[0].basis();
  Buffer runs(2 * static_cast<size_t>(basis.limbs()));
  for (int j = 0; j < basis.limbs(); ++j) {
    const GaussianResidue c = gaussian_residue(z, ring().ntt(ring().prime_index(basis, j)));
    runs.data()[2 * j] = c.low, runs.data()[2 * j + 1] = c.high;
  }
  with_plain(arithmetic, out, a, Plaintext(ring(), basis, 2, Scale(), std::move(runs)));
}

void HostEngine::with_plain(Arithmetic arithmetic, std::span<RnsPoly> out, std::span<const RnsPoly> a,
                            const Plaintext& b) const {
  check_operands(out, a);
  const int log_run = std::countr_zero(static_cast<unsigned>(b.run_length()));
  for_each_limb(out, [&](size_t i, int j) {
    uint64_t* const to = out[i].limb(j);
    const uint64_t* const from = a[i].limb(j);
    if (arithmetic == Arithmetic::kMultiply) return b.multiply_limb(to, from, j, 0, ring().n());
    alignas(64) uint64_t addend[kTile];
    for (size_t begin = 0; begin < ring().n(); begin += tile()) {
      for (size_t p = 0; p < tile(); ++p) addend[p] = b.limb(j)[(begin + p) >> log_run];
      kernels().add(to + begin, from + begin, addend, tile(), out[i].modulus(j));
    }
  });
}

// Limbs lie at equal distances, so the same place of many of them competes for a few cache sets: kTogether products at
// a time pass over a tile.
void HostEngine::sum_tile(const Sum& sum, int j, size_t begin) const {
  const Modulus& m = sum.out[0].modulus(j);
  alignas(64) uint64_t partial[3][kTile];
  for (size_t first = 0; first < sum.factors.size(); first += kTogether) {
    const std::span<const Factors> some =
        sum.factors.subspan(first, std::min(kTogether, sum.factors.size() - first));
    const uint64_t* from[4][kTogether];
    for (size_t i = 0; i < some.size(); ++i)
      for (const int part : {0, 1}) {
        from[part][i] = some[i].a->c[part].limb(j) + begin;
        from[2 + part][i] = some[i].b->c[part].limb(j) + begin;
      }
    uint64_t* to[3];
    for (int part = 0; part < 3; ++part) to[part] = first > 0 ? partial[part] : sum.out[part].limb(j) + begin;
    kernels().tensor_product(to[0], to[1], to[2], from[0], from[1], from[2], from[3], some.size(), tile(), m);
    for (int part = 0; first > 0 && part < 3; ++part) {
      uint64_t* const out = sum.out[part].limb(j) + begin;
      kernels().add(out, out, partial[part], tile(), m);
    }
  }
}

void HostEngine::multiply_sums(std::span<const Sum> sums) const {
  const int limbs = sums.front().out[0].limbs();
  for (const Sum& sum : sums)
    PSM_CHECK(sum.out.size() == 3 && !sum.factors.empty() && sum.out[0].limbs() == limbs, limbs);
  const size_t tiles = ring().n() / tile();
  parallel_for(0, static_cast<size_t>(limbs) * tiles, [&](size_t index) {
    for (const Sum& sum : sums) sum_tile(sum, static_cast<int>(index / tiles), index % tiles * tile());
  });
  for (const Sum& sum : sums) {
    if (!sum.doubled && sum.terms.empty()) continue;
    for_each_limb(sum.out, [&](size_t i, int j) {
      const Modulus& m = sum.out[i].modulus(j);
      uint64_t* const to = sum.out[i].limb(j);
      if (sum.doubled) kernels().add(to, to, to, ring().n(), m);
      for (const Term& term : sum.terms)
        if (i < term.polys.size()) add_term(to, term.polys[i].limb(j), term.factor, ring().n(), m);
    });
  }
}

Engine::Pair HostEngine::raise(const std::array<RnsPoly, 2>& a, Level level) const {
  Pair out = make_pair({level + 1, 0});
  RnsPoly coefficients[2] = {a[0].clone_prefix({1, 0}), a[1].clone_prefix({1, 0})};
  for (RnsPoly& c : coefficients) to_coefficients(c);
  for_each_limb(out, [&](size_t i, int j) {
    uint64_t* const to = out[i].limb(j);
    if (j == 0) {
      std::copy_n(a[i].limb(0), ring().n(), to);
      return;
    }
    kernels().reduce_centered(to, coefficients[i].limb(0), ring().n(), ring().q(0), ring().q(j));
    kernels().ntt_forward(to, to, ring().ntt(j));
  });
  return out;
}

}  // namespace psm::ckks
