// RnsPoly: a polynomial of the ring as residues modulo the primes of a basis, limb after limb in one buffer.
//
// Form: kCoefficient holds coefficients in natural order, kNtt the transform in bit-reversed order (ntt.h).
// All residues are in [0, prime). Operands must agree in ring, basis and form (PSM_CHECK).
// Move-only; clone() copies. Each function runs over limbs in parallel.
#pragma once

#include <array>
#include <cstdint>

#include "ckks/base/buffer.h"
#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/ring/ring.h"

namespace psm::ckks {

enum class Form { kCoefficient, kNtt };

class RnsPoly {
 public:
  RnsPoly() = default;
  // Contents are undefined. In the host's memory, or a device's.
  RnsPoly(const Ring& ring, Basis basis, Form form, Memory* memory = nullptr);
  static RnsPoly zero(const Ring& ring, Basis basis, Form form);
  // Wiped when it goes: for secrets and what determines them.
  static RnsPoly secret(const Ring& ring, Basis basis, Form form);
  RnsPoly(RnsPoly&&) noexcept = default;
  RnsPoly& operator=(RnsPoly&&) noexcept = default;
  RnsPoly clone() const { return clone_prefix(basis_); }
  // Copy of the limbs of a smaller basis.
  RnsPoly clone_prefix(Basis basis) const;
  // A copy in another memory. Not for secrets.
  RnsPoly in(Memory* memory) const;

  bool empty() const { return ring_ == nullptr; }
  const Ring& ring() const { return *ring_; }
  Basis basis() const { return basis_; }
  int limbs() const { return basis_.limbs(); }
  Form form() const { return form_; }
  void set_form(Form form) { form_ = form; }
  Memory* memory() const { return data_.memory(); }
  size_t n() const { return ring_->n(); }
  size_t bytes() const { return n() * static_cast<size_t>(limbs()) * sizeof(uint64_t); }

  uint64_t* limb(int j) { return data_.data() + static_cast<size_t>(j) * n(); }
  const uint64_t* limb(int j) const { return data_.data() + static_cast<size_t>(j) * n(); }
  int prime_index(int j) const { return ring_->prime_index(basis_, j); }
  const Modulus& modulus(int j) const { return ring_->modulus(prime_index(j)); }

 private:
  void copy_limbs(const RnsPoly& from);

  const Ring* ring_ = nullptr;
  Basis basis_;
  Form form_ = Form::kCoefficient;
  Buffer data_;
};

// The same residues, basis and form, in whatever memory they are.
bool same_bits(const RnsPoly& a, const RnsPoly& b);
void to_ntt(RnsPoly& a);
void to_coefficients(RnsPoly& a);
// round(x_i / q_l) for polynomials modulo q_0 .. q_l, l >= 1, without the last limb; NTT form in and out.
std::array<RnsPoly, 2> divide_by_last(const std::array<RnsPoly, 2>& x);

// out may be a or b in all of these.
void add(RnsPoly& out, const RnsPoly& a, const RnsPoly& b);
void subtract(RnsPoly& out, const RnsPoly& a, const RnsPoly& b);
void multiply(RnsPoly& out, const RnsPoly& a, const RnsPoly& b);      // NTT form
void multiply_add(RnsPoly& out, const RnsPoly& a, const RnsPoly& b);  // out += a b, NTT form
// X -> X^g, NTT form; wiped when it goes if a is.
RnsPoly automorphism(const RnsPoly& a, GaloisElement g);

}  // namespace psm::ckks
