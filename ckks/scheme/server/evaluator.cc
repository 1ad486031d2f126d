#include "ckks/scheme/server/evaluator.h"

#include <cmath>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/engine/host_engine.h"

namespace psm::ckks {
namespace {

using Arithmetic = Engine::Arithmetic;

// Refusals; `operation` begins the message.

void check_level(const char* operation, Level level, Level needed) {
  if (level >= needed) return;
  throw Error(message(operation, ": no level is left (the ciphertext is at level ", level, ", ", needed,
                      " is needed); bootstrap before it, or use parameters with more levels"));
}

void check_scales(const char* operation, Scale a, Scale b) {
  if (a == b) return;
  throw Error(message(operation, ": the scales differ, 2^", std::log2(a), " and 2^", std::log2(b),
                      " (relative ", a / b - 1,
                      "); rescale first, or bring both to one level with drop_to_level"));
}

void check_levels(const char* operation, int a, int b) {
  if (a == b) return;
  throw Error(message(operation, ": the levels differ, ", a, " and ", b,
                      "; bring both to one level with drop_to_level"));
}

void check_fingerprints(const char* operation, const Fingerprint& a, const Fingerprint& b) {
  if (a == b) return;
  throw Error(message(operation, ": the operands belong to different ",
                      a.parameters != b.parameters ? "parameters" : "key pairs",
                      "; use the files of one run"));
}

void check_owner(const char* operation, const Fingerprint& a, const Context& context,
                 const EvaluationKeys& keys) {
  if (a.parameters != context.fingerprint()) {
    throw Error(message(operation, ": the ciphertext belongs to other parameters; encrypt it with these"));
  }
  if (keys.fingerprint.key != 0 && a.key != keys.fingerprint.key) {
    throw Error(message(operation,
                        ": the ciphertext belongs to another key pair than the evaluation keys; "
                        "use the files of one run"));
  }
}

void check_pair(const char* operation, const Context& context, const EvaluationKeys& keys, const Summand& a,
                const Summand& b) {
  check_owner(operation, a.fingerprint, context, keys);
  check_fingerprints(operation, a.fingerprint, b.fingerprint);
  check_levels(operation, a.level(), b.level());
  check_scales(operation, a.scale(), b.scale());
}

void check_plain(const char* operation, const Context& context, const EvaluationKeys& keys,
                 const Ciphertext& a, const Plaintext& b) {
  check_owner(operation, a.fingerprint, context, keys);
  PSM_CHECK(&b.ring() == &context.ring(), "plaintext of another ring");
  check_levels(operation, a.level(), b.level());
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

Evaluator::Evaluator(const Context& context, const EvaluationKeys& keys)
    : context_(context),
      keys_(keys),
      own_engine_(std::make_unique<HostEngine>(context)),
      engine_(own_engine_.get()) {
  check_keys();
}

Evaluator::Evaluator(const Engine& engine, const EvaluationKeys& keys)
    : context_(engine.context()), keys_(keys), engine_(&engine) {
  check_keys();
}

void Evaluator::check_keys() const {
  if (keys_.fingerprint.parameters != 0 && keys_.fingerprint.parameters != context_.fingerprint()) {
    throw Error("the evaluation keys belong to other parameters; generate them with these");
  }
}

const KeySwitchKey& Evaluator::require_key(KeyRole role, GaloisElement element, Level level) const {
  if (const KeySwitchKey* key = keys_.find(context_, role, element, level)) return *key;
  throw Error(message(text(KeyName{role, element, level}), " is missing; request it when generating keys"));
}

// ---- sums ------------------------------------------------------------------------------------------------

Ciphertext Evaluator::add(const Ciphertext& a, const Ciphertext& b) const {
  check_pair("add", context_, keys_, a, b);
  Ciphertext out = uninitialised(a);
  combine(*engine_, out, a, b, 1);
  return out;
}

Ciphertext Evaluator::sub(const Ciphertext& a, const Ciphertext& b) const {
  check_pair("sub", context_, keys_, a, b);
  Ciphertext out = uninitialised(a);
  combine(*engine_, out, a, b, -1);
  return out;
}

Ciphertext Evaluator::negate(const Ciphertext& a) const {
  check_owner("negate", a.fingerprint, context_, keys_);
  Ciphertext out = uninitialised(a);
  const Term terms[] = {{a.c, -1}};
  engine_->combine(out.c, terms);
  return out;
}

void Evaluator::add_inplace(Ciphertext& a, const Ciphertext& b) const {
  check_pair("add", context_, keys_, a, b);
  combine(*engine_, a, a, b, 1);
}

Ciphertext Evaluator::add_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("add_plain", context_, keys_, a, b);
  check_scales("add_plain", a.scale(), b.scale());
  Ciphertext out({RnsPoly(a.c[0].ring(), a.c[0].basis(), Form::kNtt, a.memory()), a.c[1].clone()}, a.scale(),
                 a.fingerprint);
  engine_->with_plain(Arithmetic::kAdd, {out.c.data(), 1}, {a.c.data(), 1}, b);
  return out;
}

Ciphertext Evaluator::add_scalar(const Ciphertext& a, std::complex<double> value) const {
  Ciphertext out = a.clone();
  add_scalar_inplace(out, value);
  return out;
}

void Evaluator::add_scalar_inplace(Ciphertext& a, std::complex<double> value) const {
  check_owner("add_scalar", a.fingerprint, context_, keys_);
  engine_->with_constant(Arithmetic::kAdd, {a.c.data(), 1}, {a.c.data(), 1},
                         gaussian_integer(value, a.scale()));
}

// ---- products by plaintexts ------------------------------------------------------------------------------

Ciphertext Evaluator::multiply_plain(const Ciphertext& a, const Plaintext& b) const {
  check_plain("multiply_plain", context_, keys_, a, b);
  Ciphertext out = uninitialised(a, a.scale() * b.scale());
  engine_->with_plain(Arithmetic::kMultiply, out.c, a.c, b);
  return out;
}

Ciphertext Evaluator::multiply_scalar(const Ciphertext& a, std::complex<double> value,
                                      Scale scalar_scale) const {
  check_owner("multiply_scalar", a.fingerprint, context_, keys_);
  if (scalar_scale == 0) {
    check_level("multiply_scalar", a.level(), 1);
    const Scale needed(before_rescale(context_.scale(a.level() - 1), context_.q(a.level())) / a.scale());
    // Equal but for rounding: then the product of two canonical scales, which rescales to the canonical one.
    scalar_scale = std::abs(needed / a.scale() - 1) < 0x1p-46 ? a.scale() : needed;
  }
  Ciphertext out = uninitialised(a, a.scale() * scalar_scale);
  engine_->with_constant(Arithmetic::kMultiply, out.c, a.c, gaussian_integer(value, scalar_scale));
  return out;
}

Ciphertext Evaluator::multiply_by_i(const Ciphertext& a, int power) const {
  power &= 3;
  if (power == 0) return a.clone();
  if (power == 2) return negate(a);
  check_owner("multiply_by_i", a.fingerprint, context_, keys_);
  Ciphertext out = uninitialised(a);
  engine_->with_constant(Arithmetic::kMultiply, out.c, a.c, {0, power == 1 ? 1.0 : -1.0});
  return out;
}

// ---- levels ----------------------------------------------------------------------------------------------

Ciphertext Evaluator::rescale(const Summand& a) const {
  check_owner("rescale", a.fingerprint, context_, keys_);
  check_level("rescale", a.level(), 1);
  return {engine_->divide(a.c, {a.level(), 0}), context_.rescaled(a.scale(), a.level()), a.fingerprint};
}

Ciphertext Evaluator::truncate_to_level(const Ciphertext& a, Level target) const {
  check_owner("truncate_to_level", a.fingerprint, context_, keys_);
  check_level("truncate_to_level", a.level(), target);
  return {
      {a.c[0].clone_prefix({target + 1, 0}), a.c[1].clone_prefix({target + 1, 0})}, a.scale(), a.fingerprint};
}

Ciphertext Evaluator::drop_to_level(const Ciphertext& a, Level target) const {
  check_owner("drop_to_level", a.fingerprint, context_, keys_);
  check_level("drop_to_level", a.level(), target);
  if (a.scale() == context_.scale(target)) return truncate_to_level(a, target);
  check_level("drop_to_level with a change of scale", a.level(), target + 1);
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

// ---- products of ciphertexts ----------------------------------------------------------------------------

ProductCiphertext Evaluator::sum_of_products(std::span<const Factors> factors) const {
  const std::vector<Factors> sum(factors.begin(), factors.end());
  return std::move(sums_of_products({&sum, 1})[0]);
}

std::vector<ProductCiphertext> Evaluator::sums_of_products(std::span<const std::vector<Factors>> sums) const {
  std::vector<ProductCiphertext> products(sums.size());
  std::vector<Engine::Sum> wanted;
  for (size_t i = 0; i < sums.size(); ++i) {
    PSM_CHECK(!sums[i].empty());
    const Ciphertext& first = *sums[i][0].a;
    const Scale scale = first.scale() * sums[i][0].b->scale();
    for (const Factors& pair : sums[i]) {
      check_owner("multiply", pair.a->fingerprint, context_, keys_);
      check_fingerprints("multiply", pair.a->fingerprint, pair.b->fingerprint);
      check_levels("multiply", pair.a->level(), pair.b->level());
      check_levels("sum_of_products", first.level(), pair.a->level());
      check_scales("sum_of_products", scale, pair.a->scale() * pair.b->scale());
    }
    products[i] = {context_.ring(), first.c[0].basis(), scale, first.fingerprint, first.memory()};
    wanted.push_back({products[i].c, sums[i]});
  }
  engine_->multiply_sums(wanted);
  return products;
}

Ciphertext Evaluator::relinearise(const ProductCiphertext& a, bool rescale) const {
  check_owner("relinearise", a.fingerprint, context_, keys_);
  if (rescale) check_level("relinearise_rescale", a.level(), 1);
  return {engine_->switch_key(a.c[2], require_key(KeyRole::kRelinearisation, 0, a.level()),
                              {.addend0 = &a.c[0], .addend1 = &a.c[1], .rescale = rescale}),
          rescale ? context_.rescaled(a.scale(), a.level()) : a.scale(), a.fingerprint};
}

Ciphertext Evaluator::multiply(const Ciphertext& a, const Ciphertext& b) const {
  const Factors pair{&a, &b};
  return relinearise(sum_of_products({&pair, 1}));
}

Ciphertext Evaluator::multiply_rescale(const Ciphertext& a, const Ciphertext& b) const {
  const Factors pair{&a, &b};
  return relinearise_rescale(sum_of_products({&pair, 1}));
}

// ---- hoisting --------------------------------------------------------------------------------------------

Hoisted Evaluator::hoist(const Ciphertext& a, bool raised) const {
  check_owner(raised ? "switch_from_ephemeral" : "rotate", a.fingerprint, context_, keys_);
  return {&a, engine_->decompose(a.c[1], context_.p_count(a.level()), raised)};
}

Ciphertext Evaluator::apply_galois(const Hoisted& a, GaloisElement g) const {
  const Ciphertext& source = *a.source;
  if (g == 1) return source.clone();
  return {engine_->switch_key(a.digits, require_key(KeyRole::kGalois, g, a.level()),
                              {.addend0 = &source.c[0], .automorphism = g}),
          source.scale(), source.fingerprint};
}

Ciphertext Evaluator::rotate(const Hoisted& a, int offset) const {
  return apply_galois(a, galois_element(context_, offset));
}

Ciphertext Evaluator::apply_galois(const Ciphertext& a, GaloisElement g) const {
  check_owner("rotate", a.fingerprint, context_, keys_);
  if (g == 1) return a.clone();
  return {engine_->switch_key(a.c[1], require_key(KeyRole::kGalois, g, a.level()),
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

GaloisStep Evaluator::galois_step(GaloisElement g, Level level, bool raised) const {
  const KeyRole role = raised ? KeyRole::kFromEphemeral : KeyRole::kGalois;
  return {g, g == 1 && !raised ? nullptr : &require_key(role, g, level),
          automorphism_table(g, context_.log_n())};
}

Ciphertext Evaluator::sum_galois(const Ciphertext& a, std::span<const GaloisElement> elements,
                                 bool raised) const {
  PSM_CHECK(!elements.empty());
  const Hoisted hoisted = hoist(a, raised);
  std::vector<GaloisStep> steps;
  for (const GaloisElement g : elements) steps.push_back(galois_step(g, a.level(), raised));
  std::vector<SwitchedSource> sources;
  for (const GaloisStep& step : steps) sources.push_back({&hoisted, &step});
  return {engine_->divide(engine_->sum_switched(sources), {a.level() + 1, 0}), a.scale(), a.fingerprint};
}

Summand Evaluator::giant_step(const Summand& a, GaloisElement g, const Summand* b) const {
  check_pair("giant step", context_, keys_, a, b == nullptr ? a : *b);
  return {engine_->giant_step(a.c, galois_step(g, a.level()), b == nullptr ? nullptr : &b->c), a.scale(),
          a.fingerprint};
}

// ---- around ModRaise -------------------------------------------------------------------------------------

Ciphertext Evaluator::switch_to_ephemeral(const Ciphertext& a) const {
  check_owner("switch_to_ephemeral", a.fingerprint, context_, keys_);
  PSM_CHECK(a.level() == 0, "the ephemeral secret exists at level 0 only; level ", a.level());
  const KeySwitchKey& key = require_key(KeyRole::kToEphemeral, 0, 0);
  return {engine_->switch_key(a.c[1], key, {.addend0 = &a.c[0]}), a.scale(), a.fingerprint};
}

Ciphertext Evaluator::mod_raise(const Ciphertext& a, Level level) const {
  check_owner("mod_raise", a.fingerprint, context_, keys_);
  PSM_CHECK(a.level() == 0 && level <= context_.max_level(), "level ", a.level(), " to ", level);
  return {engine_->raise(a.c, level), a.scale(), a.fingerprint};
}

}  // namespace psm::ckks
