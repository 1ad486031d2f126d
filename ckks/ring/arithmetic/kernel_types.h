// The plain data that kernels work on. There are no inline functions, because files compiled for one
// instruction set include this. The linker could keep their copy of a function for all callers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::ckks {

constexpr int kMaxModulusBits = 50;

// A constant w in [0, q) with floor(w * 2^64 / q), which makes multiplication by w cheap. The quotient for
// 52-bit arithmetic, floor(w * 2^52 / q), is the same number shifted right by 12.
struct Multiplier {
  uint64_t value = 0;
  uint64_t quotient = 0;
};

// An odd modulus q, 2^3 < q < 2^50, and what reduction modulo q needs.
struct Modulus {
  Modulus() = default;
  explicit Modulus(uint64_t q);  // modulus.h

  uint64_t value = 0;    // q
  int bits = 0;          // k, the bit length of q
  uint64_t barrett = 0;  // floor(2^(k+63) / q)
  Multiplier one;        // the constant 1
  Multiplier two_52;     // the constant 2^52 mod q
};

// What the transform needs of NttTables (ntt.h).
struct NttView {
  int log_n = 0;
  Modulus modulus;
  const uint64_t* roots = nullptr;  // psi^brv(i), i in [1, N), and quotients
  const uint64_t* root_quotients = nullptr;
  const uint64_t* inverse_roots = nullptr;  // psi^-brv(i)
  const uint64_t* inverse_root_quotients = nullptr;
  Multiplier inverse_n;  // 1/N
  Multiplier
      inverse_n_root;  // psi^-brv(1) / N, for the last layer of the inverse, which divides by N as well
};

// What the permutation needs of AutomorphismTable (automorphism.h), for a limb or a tile of it.
struct AutomorphismView {
  size_t n = 0;
  const uint32_t* blocks = nullptr;             // entry J: 8 * J' + s
  uint32_t first_block = 0;                     // the source begins with this J'
  const uint64_t (*permutations)[8] = nullptr;  // row s, entry i: the place i' inside the source block
};

// Rows of a matrix product whose constants lie together (Kernels::run_matrix_product).
constexpr size_t kMatrixRows = 4;

}  // namespace psm::ckks
