// What the evaluator's source files share; no part of its interface.
#pragma once

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/server/evaluator.h"
#include "ckks/scheme/server/key_switch.h"

namespace psm {

struct Evaluator::Implementation {
  explicit Implementation(const Context& context) : switcher(context) {}
  KeySwitcher switcher;
};

namespace evaluator_internal {

// Refusals; `operation` begins the message.
void check_level(const char* operation, int level, int needed);
void check_scales(const char* operation, double a, double b);
void check_levels(const char* operation, int a, int b);
void check_fingerprints(const char* operation, const Fingerprint& a, const Fingerprint& b);
void check_owner(const char* operation, const Fingerprint& a, const Context& context,
                 const EvaluationKeys& keys);

// A scale that equals the canonical one but for rounding of doubles becomes it, bit for bit.
double snap_scale(const Context& context, double scale, int level);

// f(component, limb) for both polynomials of a ciphertext with that many limbs, in parallel.
template <typename Function>
void for_each_limb(int limbs, Function&& f) {
  parallel_for(0, 2 * static_cast<size_t>(limbs),
               [&](size_t index) { f(static_cast<int>(index) / limbs, static_cast<int>(index) % limbs); });
}

// The Gaussian integer round(value * scale) as it acts on a limb in NTT form: `low` on the first half of the
// residues, `high` on the second. X^(N/2) is psi^(N/2) times the sign of the top index bit there.
struct GaussianResidue {
  uint64_t low, high;
};
GaussianResidue gaussian_residue(std::complex<double> value, double scale, const NttTables& tables);

}  // namespace evaluator_internal
}  // namespace psm
