// What the evaluator's source files share; no part of its interface.
#pragma once

#include "ckks/base/error.h"
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

}  // namespace evaluator_internal
}  // namespace psm::ckks
