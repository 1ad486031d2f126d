// Parameters of the scheme: an unchecked description that a Context validates and turns into primes.
//
// The modulus chain, from level 0 to the top, level L. A bootstrapped computation goes through it from the
// top downwards:
//
//   level        0 | 1 .. stc | .. compute ..        | .. evalmod ..   | .. cts .. = L
//   prime       q_0| SlotsToCoeffs  usable levels    | EvalMod         | CoeffsToSlots
//   bits         50| 2 x 40     13 x 40              | 8 x 50          | 4 x 50            (default)
//
// and special primes p_0 .. p_{k-1} (6 x 50 bits), P = prod p_i, that exist only inside key switching. log2(QP) of the
// default is 1550, within the bound for N = 2^16 and a ternary secret of weight 192 (scheme/chain/security.h).
//
// Primes have at most 50 bits, so that the products of lazily reduced residues fit the 52-bit multiply-add
// of AVX-512-IFMA; all of them are = 1 mod 2N.
#pragma once

#include <cstddef>
#include <string>

namespace psm::ckks {

constexpr size_t kMostSpecName = 64;  // bytes of a name, as files have it

// Unchecked: Context's constructor refuses values that it cannot serve.
struct ParameterSpec {
  std::string name;
  int log_n = 16;  // ring degree N = 2^log_n; N/2 complex slots
  int q0_bits = 50;
  int stc_levels = 2, stc_bits = 40;
  int compute_levels = 13, compute_bits = 40;
  int evalmod_levels = 8, evalmod_bits = 50;
  int cts_levels = 4, cts_bits = 50;
  int p_count = 6, p_bits = 50;
  int log_scale = 40;                     // scale at the highest computing level is exactly 2^log_scale
  int secret_hamming_weight = 192;        // ternary secret with exactly this many +-1; 0: dense ternary
  int encapsulation_hamming_weight = 32;  // the ephemeral secret of ModRaise; lives at modulus q_0 p_0 only
  bool insecure = false;                  // true: no security is claimed (tests); commands must refuse it
};

// Calls each(number) for all of its numbers, in the order in which files have them (FORMATS.md).
template <typename Spec, typename Each>
void for_each_number(Spec& s, const Each& each) {
  for (auto* number : {&s.log_n, &s.q0_bits, &s.stc_levels, &s.stc_bits, &s.compute_levels, &s.compute_bits,
                       &s.evalmod_levels, &s.evalmod_bits, &s.cts_levels, &s.cts_bits, &s.p_count, &s.p_bits,
                       &s.log_scale, &s.secret_hamming_weight, &s.encapsulation_hamming_weight})
    each(*number);
}

// The default: N = 2^16, 128-bit security, thirteen usable levels between two bootstraps.
ParameterSpec secure_n16();

// The same chain under a dense ternary secret, which standard tables cover. Its bound allows 1746 bits and so more
// special primes: 9 x 50 bits, log2(QP) = 1700. There are three digits instead of five, so the keys of a bootstrap
// are a seventh smaller, and key switches faster. Rounding errors are larger under a dense secret: RESULTS.md says what
// that costs in precision.
ParameterSpec secure_n16_dense();

// The chain of a set in a ring of degree 2^log_n, with secrets of the same Hamming weights: at least 2^8 coefficients
// hold the default's. For tests; offers no security.
ParameterSpec insecure_version(ParameterSpec spec, int log_n);

// insecure_version() of the default.
ParameterSpec insecure_bootstrappable(int log_n);

// A short chain (q_0, `levels` primes of 40 bits, three special primes) without bootstrapping levels: for tests.
ParameterSpec insecure_leveled(int log_n, int levels);

}  // namespace psm::ckks
