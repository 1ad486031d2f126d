// Automorphisms, hoisting, double hoisting, and the key switches around ModRaise.
#include <algorithm>
#include <utility>

#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm::ckks {

using namespace evaluator_internal;

// ---- hoisting --------------------------------------------------------------------------------------------

Hoisted Evaluator::hoist(const Ciphertext& a) const {
  evaluator_internal::check_owner("rotate", a.fingerprint, context_, keys_);
  return {&a, switcher_.decompose(a.c[1], context_.p_count(a.level()))};
}

Ciphertext Evaluator::apply_galois(const Hoisted& a, GaloisElement g) const {
  const Ciphertext& source = *a.source;
  if (g == 1) return source.clone();
  require_galois_key(g, a.level());
  return {switcher_.switch_key(a.digits, *keys_.find_galois(context_, g, a.level()),
                               {.addend0 = &source.c[0], .automorphism = g}),
          source.scale(), source.fingerprint};
}

Ciphertext Evaluator::rotate(const Hoisted& a, int offset, bool conjugate) const {
  return apply_galois(a, galois_element(context_, offset, conjugate));
}

Ciphertext Evaluator::apply_galois(const Ciphertext& a, GaloisElement g) const {
  evaluator_internal::check_owner("rotate", a.fingerprint, context_, keys_);
  if (g == 1) return a.clone();
  require_galois_key(g, a.level());
  return {switcher_.switch_key(a.c[1], *keys_.find_galois(context_, g, a.level()),
                               {.addend0 = &a.c[0], .automorphism = g}),
          a.scale(), a.fingerprint};
}

Ciphertext Evaluator::rotate(const Ciphertext& a, int offset) const {
  return apply_galois(a, galois_element(context_, offset));
}

Ciphertext Evaluator::conjugate(const Ciphertext& a) const {
  return apply_galois(a, galois_element(context_, 0, true));
}

// ---- double hoisting -------------------------------------------------------------------------------------

GaloisStep Evaluator::galois_step(GaloisElement g, Level level) const {
  require_galois_key(g, level);
  return {g == 1 ? nullptr : keys_.find_galois(context_, g, level), automorphism_table(g, context_.log_n())};
}

ExtendedCiphertext Evaluator::apply_galois_extended(const Hoisted& a, GaloisElement g) const {
  const GaloisStep step = galois_step(g, a.level());
  const Basis basis = a.digits.basis;
  ExtendedCiphertext out(context_.ring(), basis, a.source->scale(), a.source->fingerprint);
  parallel_for(0, static_cast<size_t>(basis.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    const size_t n = context_.ring().n(), tile = std::min(n, kMaxTile);
    for (size_t begin = 0; begin < n; begin += tile) {
      galois_tile(switcher_, a, step, j, begin, tile, out.c[0].limb(j) + begin, out.c[1].limb(j) + begin);
    }
  });
  return out;
}

Ciphertext Evaluator::sum_galois(const Ciphertext& a, std::span<const GaloisElement> elements) const {
  PSM_CHECK(!elements.empty());
  const Hoisted hoisted = hoist(a);
  std::vector<GaloisStep> steps;
  for (const GaloisElement g : elements) steps.push_back(galois_step(g, a.level()));
  const Ring& ring = context_.ring();
  const Basis basis = hoisted.digits.basis;
  ExtendedCiphertext sum(ring, basis, a.scale(), a.fingerprint);
  parallel_for(0, static_cast<size_t>(basis.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& q = sum.c[0].modulus(j);
    const size_t n = ring.n(), tile = std::min(n, kMaxTile);
    alignas(64) uint64_t next0[kMaxTile], next1[kMaxTile];
    for (size_t begin = 0; begin < n; begin += tile) {
      uint64_t* c0 = sum.c[0].limb(j) + begin;
      uint64_t* c1 = sum.c[1].limb(j) + begin;
      galois_tile(switcher_, hoisted, steps[0], j, begin, tile, c0, c1);
      for (size_t s = 1; s < steps.size(); ++s) {
        galois_tile(switcher_, hoisted, steps[s], j, begin, tile, next0, next1);
        kernels().add(c0, c0, next0, tile, q);
        kernels().add(c1, c1, next1, tile, q);
      }
    }
  });
  return mod_down(sum);
}

void Evaluator::add_inplace(ExtendedCiphertext& a, const ExtendedCiphertext& b) const {
  evaluator_internal::check_fingerprints("add", a.fingerprint, b.fingerprint);
  evaluator_internal::check_levels("add", a.level(), b.level());
  evaluator_internal::check_scales("add", a.scale(), b.scale());
  for (int i : {0, 1}) psm::ckks::add(a.c[i], a.c[i], b.c[i]);
}

ExtendedCiphertext Evaluator::multiply_plain(const ExtendedCiphertext& a, const Plaintext& b) const {
  const Basis basis = a.c[0].basis();
  PSM_CHECK(b.basis() == basis, "plaintext basis ", b.basis().q, "+", b.basis().p, ", ciphertext ", basis.q,
            "+", basis.p);
  ExtendedCiphertext out(context_.ring(), basis, a.scale() * b.scale(), a.fingerprint);
  evaluator_internal::for_each_limb(basis.limbs(), [&](int i, int j) {
    b.multiply_limb(out.c[i].limb(j), a.c[i].limb(j), j, 0, a.c[i].n());
  });
  return out;
}

ExtendedCiphertext Evaluator::apply_galois_extended(const ExtendedCiphertext& a, GaloisElement g) const {
  evaluator_internal::check_owner("rotate", a.fingerprint, context_, keys_);
  if (g == 1) return a.clone();
  require_galois_key(g, a.level());
  const Ring& ring = context_.ring();
  const Basis basis = a.c[0].basis();
  const RnsPoly c1 = switcher_.mod_down(a.c[1]);
  const Digits digits = switcher_.decompose(c1, basis.p);
  const auto table = automorphism_table(g, ring.log_n());
  const KeySwitchKey& key = *keys_.find_galois(context_, g, a.level());
  ExtendedCiphertext out(ring, basis, a.scale(), a.fingerprint);
  parallel_for(0, static_cast<size_t>(basis.limbs()), [&](size_t index) {
    const int j = static_cast<int>(index);
    const size_t n = ring.n(), tile = std::min(n, kMaxTile);
    alignas(64) uint64_t k0[kMaxTile], k1[kMaxTile];
    for (size_t begin = 0; begin < n; begin += tile) {
      const size_t from = table->source_begin(begin, tile);
      switcher_.inner_product(digits, key, j, from, from + tile, k0, k1);
      kernels().add(k0, k0, a.c[0].limb(j) + from, tile, a.c[0].modulus(j));
      kernels().automorphism(out.c[0].limb(j) + begin, k0, table->tile(begin, tile));
      kernels().automorphism(out.c[1].limb(j) + begin, k1, table->tile(begin, tile));
    }
  });
  return out;
}

Ciphertext Evaluator::mod_down(const ExtendedCiphertext& a) const {
  return {switcher_.mod_down(a.c[0], a.c[1]), a.scale(), a.fingerprint};
}

Ciphertext Evaluator::mod_down_rescale(const ExtendedCiphertext& a) const {
  evaluator_internal::check_level("mod_down_rescale", a.level(), 1);
  return {switcher_.mod_down_rescale(a.c[0], a.c[1]), context_.rescaled(a.scale(), a.level()), a.fingerprint};
}

// ---- around ModRaise -------------------------------------------------------------------------------------

namespace {

Ciphertext switch_key(const KeySwitcher& switcher, const Ciphertext& a, const KeySwitchKey& key) {
  return {switcher.switch_key(a.c[1], key, {.addend0 = &a.c[0]}), a.scale(), a.fingerprint};
}

}  // namespace

Ciphertext Evaluator::switch_to_ephemeral(const Ciphertext& a) const {
  evaluator_internal::check_owner("switch_to_ephemeral", a.fingerprint, context_, keys_);
  PSM_CHECK(a.level() == 0, "the ephemeral secret exists at level 0 only; level ", a.level());
  if (!keys_.to_ephemeral) throw Error("there are no encapsulation keys; request them when generating keys");
  return switch_key(switcher_, a, *keys_.to_ephemeral);
}

Ciphertext Evaluator::switch_from_ephemeral(const Ciphertext& a) const {
  evaluator_internal::check_owner("switch_from_ephemeral", a.fingerprint, context_, keys_);
  if (!keys_.from_ephemeral)
    throw Error("there are no encapsulation keys; request them when generating keys");
  return switch_key(switcher_, a, *keys_.from_ephemeral);
}

Ciphertext Evaluator::mod_raise(const Ciphertext& a, Level level) const {
  PSM_CHECK(a.level() == 0 && level <= context_.max_level(), "level ", a.level(), " to ", level);
  const Ring& ring = context_.ring();
  const Basis basis{level + 1, 0};
  Ciphertext out(ring, basis, a.scale(), a.fingerprint);
  RnsPoly coefficients[2] = {a.c[0].clone(), a.c[1].clone()};
  for (RnsPoly& c : coefficients) to_coefficients(c);
  evaluator_internal::for_each_limb(basis.limbs(), [&](int i, int j) {
    if (j == 0) {
      std::copy_n(a.c[i].limb(0), ring.n(), out.c[i].limb(0));
      return;
    }
    kernels().reduce_centered(out.c[i].limb(j), coefficients[i].limb(0), ring.n(), ring.q(0), ring.q(j));
    kernels().ntt_forward(out.c[i].limb(j), out.c[i].limb(j), ring.ntt(j));
  });
  return out;
}

}  // namespace psm::ckks
