#include "ckks/scheme/chain/security.h"

#include <span>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

struct Bound {
  int log_n;
  double log2_modulus;
};

// ePrint 2024/463, ternary secret, classical, 128 bits; at N = 2^16 one bit less (security.h).
constexpr Bound kDenseTernary[] = {{10, 26},  {11, 53},  {12, 106}, {13, 214},
                                   {14, 430}, {15, 868}, {16, 1746}};
// The PowerSoftmax paper's parameter set (HEaaN FGb), h = 192, 128 bits.
constexpr Bound kSparse192[] = {{16, 1555}};
// ePrint 2022/024 as Lattigo v6 ships it: q_0 of 60 bits, p_0 of 61.
constexpr Bound kEphemeral32[] = {{16, 121}};

struct BoundTable {
  std::span<const Bound> bounds;
  const char* source;
};
// By SecretKind.
constexpr BoundTable kBoundTables[] = {
    {kDenseTernary, "ePrint 2024/463, dense ternary secret, classical"},
    {kSparse192, "the PowerSoftmax paper's set, ternary secret of weight 192"},
    {kEphemeral32, "ePrint 2022/024 as in Lattigo v6, ephemeral secret of weight 32 at q_0 p_0"},
};

// Returns the kind of secret of a Hamming weight (0 = dense). Throws Error for weights that no source covers.
SecretKind secret_kind(int hamming_weight) {
  if (hamming_weight == 0) return SecretKind::kDenseTernary;
  if (hamming_weight >= 192) return SecretKind::kSparse192;
  throw Error(message("no cited estimate covers a secret of Hamming weight ", hamming_weight,
                      "; use 192 or more, or 0 for a dense ternary secret"));
}

void check_bound(const ParameterSpec& spec, SecretKind kind, double log2_modulus) {
  const double bound = max_log2_modulus(spec.log_n, kind);
  if (log2_modulus <= bound) return;
  const char* const source = kBoundTables[static_cast<size_t>(kind)].source;
  if (bound == 0) {
    throw Error(message("parameters '", spec.name, "': no cited estimate covers N = 2^", spec.log_n, " (",
                        source, "); use N = 2^16"));
  }
  throw Error(message("parameters '", spec.name, "': a modulus of ", log2_modulus, " bits at N = 2^",
                      spec.log_n, " exceeds the ", bound, " bits that give 128-bit security (", source,
                      "); use fewer levels, or a specification marked insecure for experiments"));
}

}  // namespace

double max_log2_modulus(int log_n, SecretKind kind) {
  for (const Bound& bound : kBoundTables[static_cast<size_t>(kind)].bounds)
    if (bound.log_n == log_n) return bound.log2_modulus;
  return 0;
}

void check_security(const ParameterSpec& spec, double log2_qp, double log2_q0p0) {
  if (spec.insecure) return;
  check_bound(spec, secret_kind(spec.secret_hamming_weight), log2_qp);
  if (spec.evalmod_levels == 0) return;  // no bootstrap, no ephemeral secret
  if (spec.encapsulation_hamming_weight < 32) {
    throw Error(message("parameters '", spec.name, "': the ephemeral secret's Hamming weight is ",
                        spec.encapsulation_hamming_weight, "; no cited estimate covers less than 32"));
  }
  check_bound(spec, SecretKind::kEphemeral32, log2_q0p0);
}

}  // namespace psm::ckks
