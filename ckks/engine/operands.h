// The operands of an Engine (engine.h) besides polynomials: digits of a ciphertext, steps of rotations,
// weights of linear maps. Plain data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/error.h"
#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/ring/arithmetic/ntt.h"
#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/encoding/plaintext.h"
#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

// Digits of key switching: a borrowed polynomial modulo Q_l, taken modulo each D_i and extended to Q_l P. The
// limbs of a digit's own primes are the polynomial's, in NTT form. ModRaise's polynomials are one digit, of all primes:
// they are integers below q_0.
struct Digits {
  Basis basis;
  int count = 0;
  bool raised = false;                   // one digit of all primes
  bool transformed = false;              // whether the other limbs are in NTT form too
  std::vector<Buffer> extensions{};      // one a digit
  std::vector<const uint64_t*> limbs{};  // limb j of digit i at j * count + i

  const uint64_t* const* limb(int j) const { return limbs.data() + static_cast<size_t>(j) * count; }
  // The primes of digit d.
  DigitRange own(const Context& context, int d) const {
    return raised ? DigitRange{0, basis.q} : context.digit(d, level_of(basis));
  }
};

// Makes room for the digits of c, in the memory of c. The limbs of a digit's own primes are in place. Its
// extension, for all other primes in order, is undefined.
inline Digits room_for_digits(const Context& context, const RnsPoly& c, int p_count, bool raised = false) {
  PSM_CHECK(c.form() == Form::kNtt && c.basis().p == 0);
  const Level level = level_of(c.basis());
  Digits digits{
      .basis = {level + 1, p_count}, .count = raised ? 1 : context.digit_count(level), .raised = raised};
  const int limbs = digits.basis.limbs();
  digits.limbs.resize(static_cast<size_t>(limbs * digits.count));
  for (int d = 0; d < digits.count; ++d) {
    const DigitRange own = digits.own(context, d);
    const auto others = static_cast<size_t>(limbs - (own.end - own.begin));
    uint64_t* next = digits.extensions.emplace_back(others * c.n(), c.memory()).data();
    for (int j = 0; j < limbs; ++j) {
      const bool is_own = j >= own.begin && j < own.end;
      digits.limbs[j * digits.count + d] = is_own ? c.limb(j) : next;
      if (!is_own) next += c.n();
    }
  }
  return digits;
}

// The digits of a ciphertext's c_1, extended to Q_l P and in NTT form, with the ciphertext itself (borrowed).
struct Hoisted {
  const Ciphertext* source = nullptr;
  Digits digits{};  // none are needed for g = 1

  Level level() const { return source->level(); }
};

// sigma_g with the key that brings its result back to the secret; made by Evaluator::galois_step.
struct GaloisStep {
  GaloisElement element;
  const KeySwitchKey* key;  // null for the identity
  std::shared_ptr<const AutomorphismTable> table;
};

// Further steps of switch_key: additions, a division, an automorphism.
struct SwitchOptions {
  const RnsPoly* addend0 = nullptr;  // a_0 and a_1; may be absent
  const RnsPoly* addend1 = nullptr;
  bool rescale = false;
  GaloisElement automorphism = 1;
};

// A rotation of a ciphertext before its division by P, s = (s_0, s_1):
//     s = ( sigma_g( P c_0 + sum_i d_i b_i ),  sigma_g( sum_i d_i a_i ) )    modulo Q_l P.
struct SwitchedSource {
  const Hoisted* from;
  const GaloisStep* step;
};

// f a, for each of the polynomials a.
struct Term {
  std::span<const RnsPoly> polys;
  int64_t factor;
};

// (a_0 + a_1 s) (b_0 + b_1 s).
struct Factors {
  const Ciphertext *a, *b;
};

// real + imag X^(N/2), both integers, of any size: in every slot real + i imag.
struct GaussianInteger {
  double real, imag;
};

// Plaintexts with runs up to this length are multiplied as they are; those with longer runs as matrices.
constexpr size_t kShortRun = 4;

// Sums that use the same sources with plaintexts of the same period: one modular matrix product.
struct WeightTile {
  std::vector<int> sources{};  // columns
  std::vector<int> sums{};     // rows
  int values_per_limb = 0;     // of each plaintext
  bool accumulate = false;     // false: the first to write its sums
  std::vector<int> terms{};    // of the map, rows x columns: what the weights encode
  // Limb after limb. If the plaintexts are constant on runs longer than kShortRun: matrices one after
  // another, as Kernels::run_matrix_product takes them; otherwise plaintext after plaintext, row after row.
  Buffer weights{};

  bool by_runs(size_t n) const { return n / static_cast<size_t>(values_per_limb) > kShortRun; }
  size_t limb_values() const { return sums.size() * sources.size() * static_cast<size_t>(values_per_limb); }
  const uint64_t* weights_of_limb(int j) const {
    return weights.data() + static_cast<size_t>(j) * limb_values();
  }
};

// Sources [first_source, last_source), which are switched together, and the tiles multiplied with them. Tiles
// that do not accumulate come first. Weights and sums are modulo Q_l P, or modulo Q_l if sources are divided.
struct WeightBlock {
  int first_source, last_source;
  Basis basis;
  std::vector<WeightTile> tiles;
};

// A Gaussian integer z = real + imag X^(N/2) as it acts on a limb in NTT form: `low` on the first half of the
// residues, `high` on the second. In NTT form X^(N/2) is psi^(N/2) on the first half and -psi^(N/2) on the
// second.
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
