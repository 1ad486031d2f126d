// Products of ciphertexts and their relinearisation.
#include <algorithm>
#include <utility>

#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm {

using namespace evaluator_internal;

namespace {

void check_factors(const char* operation, const Context& context, const EvaluationKeys& keys,
                   const Ciphertext& a, const Ciphertext& b) {
  check_owner(operation, a.fingerprint, context, keys);
  check_fingerprints(operation, a.fingerprint, b.fingerprint);
  check_levels(operation, a.level(), b.level());
}

// (a_0 b_0, a_0 b_1 + a_1 b_0, a_1 b_1), added to `out` or not. The middle one is a sum of two products,
// reduced once.
void tensor(ProductCiphertext& out, const Ciphertext& a, const Ciphertext& b, bool accumulate) {
  const size_t n = a.c[0].n();
  const Kernels& k = kernels();
  const auto product = accumulate ? k.multiply_add : k.multiply;
  const size_t tile = std::min<size_t>(n, 512);  // seven stretches of it stay in the first-level cache
  parallel_for(0, static_cast<size_t>(a.level()) + 1, [&](size_t index) {
    const int j = static_cast<int>(index);
    const Modulus& m = a.c[0].modulus(j);
    for (size_t i = 0; i < n; i += tile) {
      const uint64_t* a0 = a.c[0].limb(j) + i;
      const uint64_t* a1 = a.c[1].limb(j) + i;
      const uint64_t* b0 = b.c[0].limb(j) + i;
      const uint64_t* b1 = b.c[1].limb(j) + i;
      product(out.c[0].limb(j) + i, a0, b0, tile, m);
      product(out.c[2].limb(j) + i, a1, b1, tile, m);
      product(out.c[1].limb(j) + i, a0, b1, tile, m);
      k.multiply_add(out.c[1].limb(j) + i, a1, b0, tile, m);
    }
  });
}

}  // namespace

ProductCiphertext Evaluator::multiply_no_relin(const Ciphertext& a, const Ciphertext& b) const {
  check_factors("multiply", context_, keys_, a, b);
  ProductCiphertext out(context_.ring(), a.c[0].basis(), a.scale() * b.scale(), a.fingerprint);
  tensor(out, a, b, false);
  return out;
}

void Evaluator::multiply_no_relin_add(ProductCiphertext& acc, const Ciphertext& a,
                                      const Ciphertext& b) const {
  check_factors("multiply", context_, keys_, a, b);
  check_fingerprints("multiply_no_relin_add", acc.fingerprint, a.fingerprint);
  check_levels("multiply_no_relin_add", acc.level(), a.level());
  check_scales("multiply_no_relin_add", acc.scale(), a.scale() * b.scale());
  tensor(acc, a, b, true);
}

void Evaluator::require_relinearisation_key(Level level) const {
  if (keys_.find_relinearisation(context_, level) != nullptr) return;
  throw Error(message("there is no relinearisation key that serves level ", level,
                      "; request it at that level when generating keys"));
}

Ciphertext Evaluator::relinearise(const ProductCiphertext& a) const {
  check_owner("relinearise", a.fingerprint, context_, keys_);
  require_relinearisation_key(a.level());
  const KeySwitchKey& key = *keys_.find_relinearisation(context_, a.level());
  return {switcher_.switch_key(a.c[2], key, {.addend0 = &a.c[0], .addend1 = &a.c[1]}), a.scale(),
          a.fingerprint};
}

Ciphertext Evaluator::relinearise_rescale(const ProductCiphertext& a) const {
  check_owner("relinearise", a.fingerprint, context_, keys_);
  check_level("relinearise_rescale", a.level(), 1);
  require_relinearisation_key(a.level());
  const KeySwitchKey& key = *keys_.find_relinearisation(context_, a.level());
  return {switcher_.switch_key(a.c[2], key, {.addend0 = &a.c[0], .addend1 = &a.c[1], .rescale = true}),
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

}  // namespace psm
