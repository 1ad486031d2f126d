// Products of ciphertexts and their relinearisation.
#include <utility>

#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm::ckks {

namespace {

void check_factors(const char* operation, const Context& context, const EvaluationKeys& keys,
                   const Ciphertext& a, const Ciphertext& b) {
  evaluator_internal::check_owner(operation, a.fingerprint, context, keys);
  evaluator_internal::check_fingerprints(operation, a.fingerprint, b.fingerprint);
  evaluator_internal::check_levels(operation, a.level(), b.level());
}

}  // namespace

ProductCiphertext Evaluator::sum_of_products(std::span<const Factors> factors) const {
  PSM_CHECK(!factors.empty());
  const Ciphertext& first = *factors[0].a;
  const Scale scale = first.scale() * factors[0].b->scale();
  for (const Factors& pair : factors) {
    check_factors("multiply", context_, keys_, *pair.a, *pair.b);
    evaluator_internal::check_levels("sum_of_products", first.level(), pair.a->level());
    evaluator_internal::check_scales("sum_of_products", scale, pair.a->scale() * pair.b->scale());
  }
  ProductCiphertext out(context_.ring(), first.c[0].basis(), scale, first.fingerprint, first.memory());
  engine_->multiply_sums(out.c, factors, false, {});
  return out;
}

ProductCiphertext Evaluator::multiply_no_relin(const Ciphertext& a, const Ciphertext& b) const {
  const Factors pair{&a, &b};
  return sum_of_products({&pair, 1});
}

void Evaluator::require_relinearisation_key(Level level) const {
  if (keys_.find_relinearisation(context_, level) != nullptr) return;
  throw Error(message("there is no relinearisation key that serves level ", level,
                      "; request it at that level when generating keys"));
}

Ciphertext Evaluator::relinearise(const ProductCiphertext& a) const {
  evaluator_internal::check_owner("relinearise", a.fingerprint, context_, keys_);
  require_relinearisation_key(a.level());
  const KeySwitchKey& key = *keys_.find_relinearisation(context_, a.level());
  return {engine_->switch_key(a.c[2], key, {.addend0 = &a.c[0], .addend1 = &a.c[1]}), a.scale(),
          a.fingerprint};
}

Ciphertext Evaluator::relinearise_rescale(const ProductCiphertext& a) const {
  evaluator_internal::check_owner("relinearise", a.fingerprint, context_, keys_);
  evaluator_internal::check_level("relinearise_rescale", a.level(), 1);
  require_relinearisation_key(a.level());
  const KeySwitchKey& key = *keys_.find_relinearisation(context_, a.level());
  return {engine_->switch_key(a.c[2], key, {.addend0 = &a.c[0], .addend1 = &a.c[1], .rescale = true}),
          context_.rescaled(a.scale(), a.level()), a.fingerprint};
}

Ciphertext Evaluator::multiply(const Ciphertext& a, const Ciphertext& b) const {
  return relinearise(multiply_no_relin(a, b));
}

Ciphertext Evaluator::square(const Ciphertext& a) const { return multiply(a, a); }

Ciphertext Evaluator::multiply_rescale(const Ciphertext& a, const Ciphertext& b) const {
  return relinearise_rescale(multiply_no_relin(a, b));
}

Ciphertext Evaluator::square_rescale(const Ciphertext& a) const { return multiply_rescale(a, a); }

}  // namespace psm::ckks
