// What the evaluator's source files share; no part of its interface.
#pragma once

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::ckks {

namespace evaluator_internal {

// Refusals; `operation` begins the message.
void check_level(const char* operation, Level level, Level needed);
void check_scales(const char* operation, Scale a, Scale b);
void check_levels(const char* operation, int a, int b);
void check_fingerprints(const char* operation, const Fingerprint& a, const Fingerprint& b);
void check_owner(const char* operation, const Fingerprint& a, const Context& context,
                 const EvaluationKeys& keys);

// f(component, limb) for both polynomials of a ciphertext with that many limbs, in parallel.
template <typename Function>
void for_each_limb(int limbs, Function&& f) {
  parallel_for(0, 2 * static_cast<size_t>(limbs),
               [&](size_t index) { f(static_cast<int>(index) / limbs, static_cast<int>(index) % limbs); });
}

}  // namespace evaluator_internal
}  // namespace psm::ckks
