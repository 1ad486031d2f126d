// Construction, refusals, and what all operations share.
#include "ckks/scheme/server/evaluator.h"

#include <cmath>

#include "ckks/engine/host_engine.h"
#include "ckks/scheme/server/evaluator_implementation.h"

namespace psm::ckks {
namespace evaluator_internal {

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

}  // namespace evaluator_internal

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

void Evaluator::require_galois_key(GaloisElement g, Level level) const {
  if (g == 1 || keys_.find_galois(context_, g, level) != nullptr) return;
  // Which rotation this is: the power of 5, up to conjugation.
  const GaloisElement two_n = GaloisElement{2} << context_.log_n();
  const bool conjugated = g % 4 == 3;
  const GaloisElement rotation = conjugated ? two_n - g : g;
  int offset = 0;
  for (GaloisElement power = 1; power != rotation && offset < context_.slots(); ++offset) {
    power = 5 * power & (two_n - 1);
  }
  const std::string name = conjugated ? (offset == 0 ? std::string("conjugation")
                                                     : message("conjugation and rotation by ", offset))
                                      : message("rotation by ", offset);
  throw Error(message("there is no evaluation key for the ", name, " (Galois element ", g,
                      ") that serves level ", level, "; request it at that level when generating keys"));
}

}  // namespace psm::ckks
