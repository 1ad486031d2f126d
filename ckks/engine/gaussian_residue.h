// A Gaussian integer z = real + imag X^(N/2) as it acts on a limb in NTT form: `low` on the first half of the
// residues, `high` on the second. In NTT form X^(N/2) is psi^(N/2) on the first half and -psi^(N/2) on the
// second.
#pragma once

#include "ckks/engine/operands.h"
#include "ckks/ring/arithmetic/ntt.h"
#include "ckks/ring/arithmetic/real_residue.h"

namespace psm::ckks {

struct GaussianResidue {
  uint64_t low, high;
};

inline GaussianResidue gaussian_residue(GaussianInteger z, const NttTables& tables) {
  const Modulus& m = tables.modulus();
  const uint64_t a = residue_of(z.real, m);
  const uint64_t b = mul_mod(residue_of(z.imag, m), tables.roots()[1], m);  // roots()[1] = psi^(N/2)
  return {add_mod(a, b, m), sub_mod(a, b, m)};
}

}  // namespace psm::ckks
