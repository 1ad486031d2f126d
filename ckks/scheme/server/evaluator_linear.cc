// Sums, plaintext and scalar operands, changes of level.
#include <cmath>

#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm::ckks {

namespace {

void check_pair(const char* operation, const Ciphertext& a, const Ciphertext& b) {
  evaluator_internal::check_fingerprints(operation, a.fingerprint, b.fingerprint);
  evaluator_internal::check_levels(operation, a.level(), b.level());
  evaluator_internal::check_scales(operation, a.scale(), b.scale());
}

void check_plain(const char* operation, const Context& context, const Ciphertext& a, const Plaintext& b) {
  PSM_CHECK(&b.ring() == &context.ring(), "plaintext of another ring");
  evaluator_internal::check_levels(operation, a.level(), b.level());
}

Ciphertext uninitialised(const Ciphertext& like, Scale scale) {
  return {like.c[0].ring(), like.c[0].basis(), scale, like.fingerprint, like.memory()};
}
Ciphertext uninitialised(const Ciphertext& like) { return uninitialised(like, like.scale()); }

// round(value * scale).
GaussianInteger gaussian_integer(std::complex<double> value, Scale scale) {
  const double real = std::nearbyint(value.real() * scale), imag = std::nearbyint(value.imag() * scale);
  if (!std::isfinite(real) || !std::isfinite(imag)) {
    throw Error("a scalar operand is not a finite number; the computation before it failed");
  }
  return {real, imag};
}

// out = a + factor b, residues alone.
void combine(const Engine& engine, Ciphertext& out, const Ciphertext& a, const Ciphertext& b, int factor) {
  const Term terms[] = {{a.c, 1}, {b.c, factor}};
  engine.combine(out.c, terms);
}

}  // namespace

// ---- sums ------------------------------------------------------------------------------------------------

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair("add", a, b);
  Ciphertext out = uninitialised(a);
  combine(*engine_, out, a, b, 1);
  return out;
}

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const {
  check_pair("sub", a, b);
  Ciphertext out = uninitialised(a);
  combine(*engine_, out, a, b, -1);
  return out;
}

Ciphertext Evaluator::negate(const Ciphertext& a) const {
  Ciphertext out = uninitialised(a);
  const Term terms[] = {{a.c, -1}};
  engine_->combine(out.c, terms);
  return out;
}

void Evaluator::add_inplace(Ciphertext& a, const Ciphertext& b) const {
  check_pair("add", a, b);
  combine(*engine_, a, a, b, 1);
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("add_plain", context_, a, b);
  evaluator_internal::check_scales("add_plain", a.scale(), b.scale());
  Ciphertext out = a.clone();
  engine_->add_plain(out.c[0], b);
  return out;
}

Ciphertext Evaluator::add_scalar(const Ciphertext& a, std::complex<double> value) const {
  Ciphertext out = a.clone();
  add_scalar_inplace(out, value);
  return out;
}

void Evaluator::add_scalar_inplace(Ciphertext& a, std::complex<double> value) const {
  engine_->add_constant(a.c[0], gaussian_integer(value, a.scale()));
}

// ---- products by plaintexts ------------------------------------------------------------------------------

Ciphertext Evaluator::multiply_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("multiply_plain", context_, a, b);
  Ciphertext out = uninitialised(a, a.scale() * b.scale());
  engine_->multiply_plain(out.c, a.c, b);
  return out;
}

Ciphertext Evaluator::multiply_scalar(const Ciphertext& a, std::complex<double> value,
                                      Scale scalar_scale) const {
  if (scalar_scale == 0) {
    evaluator_internal::check_level("multiply_scalar", a.level(), 1);
    const Scale needed(before_rescale(context_.scale(a.level() - 1), context_.q(a.level())) / a.scale());
    // Equal but for rounding: then the product of two canonical scales, which rescales to the canonical one.
    scalar_scale = std::abs(needed / a.scale() - 1) < 0x1p-46 ? a.scale() : needed;
  }
  Ciphertext out = uninitialised(a, a.scale() * scalar_scale);
  engine_->scale(out.c, a.c, gaussian_integer(value, scalar_scale));
  return out;
}

Ciphertext Evaluator::multiply_by_i(const Ciphertext& a, int power) const {
  power &= 3;
  if (power == 0) return a.clone();
  if (power == 2) return negate(a);
  Ciphertext out = uninitialised(a);
  engine_->scale(out.c, a.c, {0, power == 1 ? 1.0 : -1.0});
  return out;
}

// ---- levels ----------------------------------------------------------------------------------------------

Ciphertext Evaluator::rescale(const Ciphertext& a) const {
  evaluator_internal::check_level("rescale", a.level(), 1);
  return {engine_->divide(a.c, {a.level(), 0}), context_.rescaled(a.scale(), a.level()), a.fingerprint};
}

void Evaluator::rescale_inplace(Ciphertext& a) const { a = rescale(a); }

Ciphertext Evaluator::truncate_to_level(const Ciphertext& a, Level target) const {
  evaluator_internal::check_level("truncate_to_level", a.level(), target);
  return {
      {a.c[0].clone_prefix({target + 1, 0}), a.c[1].clone_prefix({target + 1, 0})}, a.scale(), a.fingerprint};
}

Ciphertext Evaluator::drop_to_level(const Ciphertext& a, Level target) const {
  evaluator_internal::check_level("drop_to_level", a.level(), target);
  if (a.scale() == context_.scale(target)) return truncate_to_level(a, target);
  evaluator_internal::check_level("drop_to_level with a change of scale", a.level(), target + 1);
  const Scale scalar_scale(before_rescale(context_.scale(target), context_.q(target + 1)) / a.scale());
  if (scalar_scale < 0x1p16) {
    throw Error(message("drop_to_level: a ciphertext of scale 2^", std::log2(a.scale()),
                        " cannot reach scale 2^", std::log2(context_.scale(target)), " at level ", target,
                        " precisely; rescale it first"));
  }
  Ciphertext out = rescale(multiply_scalar(truncate_to_level(a, target + 1), 1.0, scalar_scale));
  out.settle_scale(context_.scale(target));
  return out;
}

}  // namespace psm::ckks
