// Embedding: the canonical embedding of a real polynomial of degree 2m into m complex slots, and its inverse.
//
//     slot j = sum_k a_k zeta^(k 5^j),   zeta = exp(2 pi i / 4m),   j = 0 .. m - 1.
//
// zeta^(m 5^j) = i for all j. So with w_k = a_k + i a_(k+m), slot j is w(zeta^(5^j)). The exponents 5^j are
// all those that are 1 mod 4, so these are the m roots of X^m = i. A radix-2 transform along the factors
//     X^(2h) - z^2 = (X^h - z)(X^h + z)
// finds them in bit-reversed order, exponent 1 + 4 brv(index), with the twiddles
//     exp(2 pi i (1 + 4 brv_d(b)) / 2^(d+3))
// at depth d and block b, which are the same for every m.
//
// Computed in doubles. Each operation is rounded once, in a fixed order, and twiddles are those of
// unit_root(). So the bits do not depend on the processor (FORMATS.md, Encoding). Immutable, thread-safe.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace psm::ckks {

class Embedding {
 public:
  // Serves vectors of up to 2^log_slots values.
  explicit Embedding(int log_slots);

  // slots.size() = m, a power of two. Writes 2m coefficients, those of Y = X^(N/2m) in a ring of degree N.
  void coefficients_of_slots(std::span<const std::complex<double>> slots, double* coefficients) const;
  // Reads 2m coefficients where m = slots.size().
  void slots_of_coefficients(const double* coefficients, std::span<std::complex<double>> slots) const;

 private:
  // Index of slot j in bit-reversed order, for m values.
  uint32_t place(size_t j, int log_m) const;

  int log_slots_;
  std::vector<double> twiddle_re_, twiddle_im_;  // block b of depth d at 2^d + b
  std::vector<uint32_t> places_;                 // for 2^log_slots values
};

// exp(2 pi i k / n), the same bits on every machine: each part is the double nearest to it. n is a power of two, at
// most 2^60.
std::complex<double> unit_root(uint64_t k, uint64_t n);

}  // namespace psm::ckks
