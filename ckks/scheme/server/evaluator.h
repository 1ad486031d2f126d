// Evaluator: everything that can be done to ciphertexts without a secret.
//
// Notation: a ciphertext at level l is modulo Q_l = q_0 .. q_l and encrypts scale * m. Products are NOT
// rescaled: their scale is the product of the scales, and rescale() divides by q_l and goes down one level.
// With both operands at the canonical scale S_l, multiply + rescale gives exactly S_{l-1} (scheme/chain/context.h).
//
// Refusals: operands of different levels or scales, other parameters or another key pair, a level that does
// not exist, a missing key: all throw psm::Error that names what is missing. Nothing is adjusted silently;
// drop_to_level() is the one explicit way to bring operands together.
//
// Key switching (hybrid; ePrint 2019/688): with the digits d_i = [c]_{D_i} of a polynomial c and a key
// (b_i, a_i), i < dnum,
//
//     (k_0, k_1) = round( (sum_i d_i b_i, sum_i d_i a_i) / P ),      k_0 + k_1 s = c s' + small.
//
// ModUp extends d_i from the primes of D_i to all of Q_l P; ModDown is the division by P.
// Hoisting: the d_i depend on c alone and serve any number of rotations. Double hoisting: sums over several
// rotations are taken in Q_l P (ExtendedCiphertext) and divided once.
//
// Thread-safety: all functions are const and may run concurrently; each uses OpenMP over limbs inside.
// Memory: scratch comes from the buffer pool; nothing is allocated in inner loops.
#pragma once

#include <complex>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/encoding/plaintext.h"
#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/public/keys.h"
#include "ckks/scheme/server/key_switch.h"

namespace psm {

// The digits of a ciphertext's c_1, extended to Q_l P and in NTT form, with the ciphertext itself (borrowed).
struct Hoisted {
  const Ciphertext* source = nullptr;
  Digits digits;

  int level() const { return source->level(); }
};

class Evaluator {
 public:
  Evaluator(const Context& context, const EvaluationKeys& keys);
  ~Evaluator();
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  const Context& context() const { return context_; }
  const EvaluationKeys& keys() const { return keys_; }

  // ---- linear -------------------------------------------------------------------------------------------
  Ciphertext add(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext sub(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext negate(const Ciphertext& a) const;
  void add_inplace(Ciphertext& a, const Ciphertext& b) const;
  void sub_inplace(Ciphertext& a, const Ciphertext& b) const;
  void negate_inplace(Ciphertext& a) const;
  void add_inplace(ProductCiphertext& a, const ProductCiphertext& b) const;
  // Joins products whose relinearisation is pending with a ciphertext of the same scale and level.
  void add_inplace(ProductCiphertext& a, const Ciphertext& b) const;

  Ciphertext add_plain(const Ciphertext& a, const Plaintext& b) const;
  Ciphertext sub_plain(const Ciphertext& a, const Plaintext& b) const;
  // Adds the same complex number to every slot; no encoding, no level.
  Ciphertext add_scalar(const Ciphertext& a, std::complex<double> value) const;
  void add_scalar_inplace(Ciphertext& a, std::complex<double> value) const;

  // ---- products by plaintexts: scale = product, not rescaled --------------------------------------------
  Ciphertext multiply_plain(const Ciphertext& a, const Plaintext& b) const;
  // acc += a * b (scales of acc and the product must agree exactly).
  void multiply_plain_add(Ciphertext& acc, const Ciphertext& a, const Plaintext& b) const;
  // The scalar is rounded to a Gaussian integer at `scalar_scale` (0: the one that makes the rescaled product
  // canonical one level down, S_{l-1} q_l / scale(a)). scale = scale(a) * scalar_scale.
  Ciphertext multiply_scalar(const Ciphertext& a, std::complex<double> value, double scalar_scale = 0) const;
  void multiply_scalar_add(Ciphertext& acc, const Ciphertext& a, std::complex<double> value,
                           double scalar_scale) const;
  // Exact, same scale and level.
  Ciphertext multiply_integer(const Ciphertext& a, int64_t value) const;
  // Every slot times i^power, exact: the monomial X^(power N/2).
  Ciphertext multiply_by_i(const Ciphertext& a, int power = 1) const;

  // ---- products of ciphertexts: scale = product, not rescaled -------------------------------------------
  Ciphertext multiply(const Ciphertext& a, const Ciphertext& b) const;  // relinearised
  Ciphertext square(const Ciphertext& a) const;
  ProductCiphertext multiply_no_relin(const Ciphertext& a, const Ciphertext& b) const;
  // acc += a * b
  void multiply_no_relin_add(ProductCiphertext& acc, const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext relinearise(const ProductCiphertext& a) const;
  // relinearise + rescale in one division by P q_l.
  Ciphertext relinearise_rescale(const ProductCiphertext& a) const;
  // multiply + relinearise + rescale, the usual way to multiply.
  Ciphertext multiply_rescale(const Ciphertext& a, const Ciphertext& b) const;
  Ciphertext square_rescale(const Ciphertext& a) const;
  // sum_i a_i b_i with one relinearisation, not rescaled.
  Ciphertext sum_of_products(std::span<const std::pair<const Ciphertext*, const Ciphertext*>> pairs) const;

  // ---- levels -------------------------------------------------------------------------------------------
  Ciphertext rescale(const Ciphertext& a) const;
  void rescale_inplace(Ciphertext& a) const;
  // From any level and scale above to the canonical scale S_target: limbs are dropped down to target + 1, one
  // scalar product sets the scale, one rescale. Returns a copy if it is there already.
  Ciphertext drop_to_level(const Ciphertext& a, int target) const;
  // Drops limbs and keeps the scale as it is (the caller knows what it does: the bootstrap, error studies).
  Ciphertext truncate_to_level(const Ciphertext& a, int target) const;

  // ---- rotations ----------------------------------------------------------------------------------------
  Ciphertext rotate(const Ciphertext& a, int offset) const;  // slot s of the result = slot s + offset of a
  Ciphertext conjugate(const Ciphertext& a) const;
  Ciphertext apply_galois(const Ciphertext& a, GaloisElement g) const;

  // `a` must outlive the result.
  Hoisted hoist(const Ciphertext& a) const;
  Ciphertext apply_galois(const Hoisted& a, GaloisElement g) const;
  Ciphertext rotate(const Hoisted& a, int offset, bool conjugate = false) const;
  std::vector<Ciphertext> rotate_hoisted(const Ciphertext& a, std::span<const int> offsets) const;

  // sum_g sigma_g(a), with one decomposition and one division by P for all of them. g = 1 needs no key.
  Ciphertext sum_galois(const Ciphertext& a, std::span<const GaloisElement> elements) const;

  // ---- double hoisting ----------------------------------------------------------------------------------
  // sigma_g of the source, times P, modulo Q_l P. g = 1 needs no key.
  ExtendedCiphertext apply_galois_extended(const Hoisted& a, GaloisElement g) const;
  // The same for places [begin, begin + size) of one limb j of the basis {level + 1, p_count} only, size <= kMaxTile a
  // power of two and begin a multiple of it: `size` residues each of c_0 and c_1. A linear transform runs tile by tile
  // with all its rotations in the second-level cache.
  static constexpr size_t kMaxTile = 1024;
  struct GaloisStep {
    const KeySwitchKey* key;  // null for the identity
    std::shared_ptr<const AutomorphismTable> table;
  };
  GaloisStep galois_step(GaloisElement g, int level) const;  // throws Error without a key
  void apply_galois_extended_tile(const Hoisted& a, const GaloisStep& step, int j, size_t begin, size_t size,
                                  uint64_t* c0, uint64_t* c1) const;
  ExtendedCiphertext extend(const Ciphertext& a) const;  // P * a
  void add_inplace(ExtendedCiphertext& a, const ExtendedCiphertext& b) const;
  // `b` encoded with extended = true.
  ExtendedCiphertext multiply_plain(const ExtendedCiphertext& a, const Plaintext& b) const;
  void multiply_plain_add(ExtendedCiphertext& acc, const ExtendedCiphertext& a, const Plaintext& b) const;
  // Giant steps: sigma_g of an extended sum; c_1 is divided by P and switched, c_0 stays as it is.
  ExtendedCiphertext apply_galois_extended(const ExtendedCiphertext& a, GaloisElement g) const;
  Ciphertext mod_down(const ExtendedCiphertext& a) const;          // division by P
  Ciphertext mod_down_rescale(const ExtendedCiphertext& a) const;  // division by P q_l, level - 1

  // ---- around ModRaise ----------------------------------------------------------------------------------
  // At level 0: to the ephemeral secret (key to_ephemeral).
  Ciphertext switch_to_ephemeral(const Ciphertext& a) const;
  // The same residues read modulo Q_level: q_0 I is added to the message. Level 0 -> level, scale unchanged.
  Ciphertext mod_raise(const Ciphertext& a, int level) const;
  // Back to the secret of the key pair (key from_ephemeral).
  Ciphertext switch_from_ephemeral(const Ciphertext& a) const;

  // Throw Error unless there is a key that serves `level`.
  void require_galois_key(GaloisElement g, int level) const;
  void require_relinearisation_key(int level) const;

 private:
  struct Implementation;
  const Context& context_;
  const EvaluationKeys& keys_;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace psm
