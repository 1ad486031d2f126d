// Automorphisms, hoisting, double hoisting, and the key switches around ModRaise.
#include <vector>

#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm::ckks {

// ---- hoisting --------------------------------------------------------------------------------------------

Hoisted Evaluator::hoist(const Ciphertext& a) const {
  evaluator_internal::check_owner("rotate", a.fingerprint, context_, keys_);
  return {&a, engine_->decompose(a.c[1], context_.p_count(a.level()))};
}

Ciphertext Evaluator::apply_galois(const Hoisted& a, GaloisElement g) const {
  const Ciphertext& source = *a.source;
  if (g == 1) return source.clone();
  require_galois_key(g, a.level());
  return {engine_->switch_key(a.digits, *keys_.find_galois(context_, g, a.level()),
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
  return {engine_->switch_key(a.c[1], *keys_.find_galois(context_, g, a.level()),
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
  return {g, g == 1 ? nullptr : keys_.find_galois(context_, g, level),
          automorphism_table(g, context_.log_n())};
}

ExtendedCiphertext Evaluator::apply_galois_extended(const Hoisted& a, GaloisElement g) const {
  const GaloisStep step = galois_step(g, a.level());
  const SwitchedSource source{&a, &step};
  return {engine_->sum_switched({&source, 1}), a.source->scale(), a.source->fingerprint};
}

Ciphertext Evaluator::sum_galois(const Ciphertext& a, std::span<const GaloisElement> elements) const {
  PSM_CHECK(!elements.empty());
  const Hoisted hoisted = hoist(a);
  std::vector<GaloisStep> steps;
  for (const GaloisElement g : elements) steps.push_back(galois_step(g, a.level()));
  std::vector<SwitchedSource> sources;
  for (const GaloisStep& step : steps) sources.push_back({&hoisted, &step});
  return mod_down({engine_->sum_switched(sources), a.scale(), a.fingerprint});
}

void Evaluator::add_inplace(ExtendedCiphertext& a, const ExtendedCiphertext& b) const {
  evaluator_internal::check_fingerprints("add", a.fingerprint, b.fingerprint);
  evaluator_internal::check_levels("add", a.level(), b.level());
  evaluator_internal::check_scales("add", a.scale(), b.scale());
  const Term terms[] = {{a.c, 1}, {b.c, 1}};
  engine_->combine(a.c, terms);
}

ExtendedCiphertext Evaluator::multiply_plain(const ExtendedCiphertext& a, const Plaintext& b) const {
  const Basis basis = a.c[0].basis();
  PSM_CHECK(b.basis() == basis, "plaintext basis ", b.basis().q, "+", b.basis().p, ", ciphertext ", basis.q,
            "+", basis.p);
  ExtendedCiphertext out(context_.ring(), basis, a.scale() * b.scale(), a.fingerprint, a.memory());
  engine_->multiply_plain(out.c, a.c, b);
  return out;
}

ExtendedCiphertext Evaluator::apply_galois_extended(const ExtendedCiphertext& a, GaloisElement g) const {
  evaluator_internal::check_owner("rotate", a.fingerprint, context_, keys_);
  if (g == 1) return a.clone();
  return {engine_->switch_extended(a.c, galois_step(g, a.level())), a.scale(), a.fingerprint};
}

Ciphertext Evaluator::mod_down(const ExtendedCiphertext& a) const {
  return {engine_->divide(a.c, {a.level() + 1, 0}), a.scale(), a.fingerprint};
}

Ciphertext Evaluator::mod_down_rescale(const ExtendedCiphertext& a) const {
  evaluator_internal::check_level("mod_down_rescale", a.level(), 1);
  return {engine_->divide(a.c, {a.level(), 0}), context_.rescaled(a.scale(), a.level()), a.fingerprint};
}

// ---- around ModRaise -------------------------------------------------------------------------------------

namespace {

Ciphertext switch_key(const Engine& engine, const Ciphertext& a, const KeySwitchKey& key) {
  return {engine.switch_key(a.c[1], key, {.addend0 = &a.c[0]}), a.scale(), a.fingerprint};
}

}  // namespace

Ciphertext Evaluator::switch_to_ephemeral(const Ciphertext& a) const {
  evaluator_internal::check_owner("switch_to_ephemeral", a.fingerprint, context_, keys_);
  PSM_CHECK(a.level() == 0, "the ephemeral secret exists at level 0 only; level ", a.level());
  if (!keys_.to_ephemeral) throw Error("there are no encapsulation keys; request them when generating keys");
  return switch_key(*engine_, a, *keys_.to_ephemeral);
}

Ciphertext Evaluator::switch_from_ephemeral(const Ciphertext& a) const {
  evaluator_internal::check_owner("switch_from_ephemeral", a.fingerprint, context_, keys_);
  if (!keys_.from_ephemeral)
    throw Error("there are no encapsulation keys; request them when generating keys");
  return switch_key(*engine_, a, *keys_.from_ephemeral);
}

Ciphertext Evaluator::mod_raise(const Ciphertext& a, Level level) const {
  PSM_CHECK(a.level() == 0 && level <= context_.max_level(), "level ", a.level(), " to ", level);
  return {engine_->raise(a.c, level), a.scale(), a.fingerprint};
}

}  // namespace psm::ckks
