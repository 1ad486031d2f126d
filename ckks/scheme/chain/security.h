// What moduli are allowed: the largest log2(QP) at which a ring of degree N offers 128 bits of security.
//
// Sources:
//   * dense ternary secrets: Bossuat et al., "Security Guidelines for Implementing Homomorphic Encryption",
//     ePrint 2024/463 (classical attacks, ternary secret, error deviation 3.19), which extends the
//     HomomorphicEncryption.org standard table (Albrecht et al., 2018; up to N = 2^15) to N = 2^16. There it
//     has 1747 bits, which the estimator below puts at 2^127.99; 1746 are allowed here;
//   * ternary secrets of Hamming weight >= 192 at N = 2^16: log2(QP) <= 1555, the figure of the parameter set
//     used by the PowerSoftmax paper (HEaaN "FGb"). The sets that Bossuat, Troncoso-Pastoriza and Hubaux
//     (ePrint 2022/024) estimate against the hybrid primal and dual attacks have 1546 to 1553. Such sparse
//     secrets are outside the standard tables;
//   * the ephemeral secret of weight 32 around ModRaise (ePrint 2022/024) at N = 2^16: 121 bits. In that
//     paper's sets the one key under it has this modulus, q_0 of 60 and p_0 of 61 bits. Their library states
//     "over 128-bit security for an evaluation key of modulus 121 bits" (Lattigo v6,
//     circuits/ckks/bootstrapping/parameters_literal.go). OpenFHE runs the same weight at 126 bits and quotes
//     an estimator for it (openfhe-development, issue 1041). Primes of at most 50 bits keep ours at
//     100. The key generator makes exactly one key under it, at the modulus q_0 p_0.
//
// testdata/security_estimates.txt has what each known attack costs at these moduli, by the lattice estimator and
// by that of Meet-LWE (ePrint 2022/1473), both with lattice reduction as MATZOV counts it (classical). All ran
// to their end. The cheapest takes 2^128.7 for weight 192 (Meet-LWE; all others 2^133.8), 2^128.2 for the dense
// secret, and 2^160.5 for weight 32.
//
// None of this covers decrypted results that are shared (IND-CPA-D, Li and Micciancio, ePrint 2020/1533).
#pragma once

#include "ckks/scheme/chain/parameters.h"

namespace psm::ckks {

enum class SecretKind {
  kDenseTernary,  // each coefficient uniform in {-1, 0, 1}
  kSparse192,     // ternary with Hamming weight >= 192
  kEphemeral32,   // ternary with Hamming weight >= 32; only at modulus q_0 p_0
};

// Returns the largest log2 of the modulus for 128 bits of security, or 0 if no source gives one.
double max_log2_modulus(int log_n, SecretKind kind);

// Throws Error, naming the bound and its source, unless log2(QP) = `log2_qp` is allowed for the main secret
// and log2(q_0 p_0) = `log2_q0p0` for the ephemeral one. Does nothing for an insecure specification.
void check_security(const ParameterSpec& spec, double log2_qp, double log2_q0p0);

// What every specification that is not insecure claims: the cost of the cheapest attack, log2 rounded down.
constexpr int kSecurityBits = 128;

}  // namespace psm::ckks
