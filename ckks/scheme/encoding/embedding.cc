#include "ckks/scheme/encoding/embedding.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/base/secret.h"
#include "ckks/ring/arithmetic/ntt.h"
#include "ckks/scheme/encoding/unit_root.h"

namespace psm::ckks {

Embedding::Embedding(int log_slots) : log_slots_(log_slots) {
  const size_t slots = size_t{1} << log_slots;
  twiddle_re_.resize(slots);
  twiddle_im_.resize(slots);
  for (int depth = 0; depth < log_slots; ++depth) {
    for (size_t block = 0; block < (size_t{1} << depth); ++block) {
      const std::complex<double> twiddle = unit_root(1 + 4 * reverse_bits(block, depth), size_t{8} << depth);
      twiddle_re_[(size_t{1} << depth) + block] = twiddle.real();
      twiddle_im_[(size_t{1} << depth) + block] = twiddle.imag();
    }
  }
  places_.resize(slots);
  uint64_t power = 1;  // 5^j mod 4m
  for (size_t j = 0; j < slots; ++j, power = 5 * power & (4 * slots - 1)) {
    places_[j] = static_cast<uint32_t>(reverse_bits((power - 1) / 4, log_slots));
  }
}

// The exponents for fewer slots are those for all, modulo 4m; the reversal keeps the top bits.
uint32_t Embedding::place(size_t j, int log_m) const { return places_[j] >> (log_slots_ - log_m); }

void Embedding::coefficients_of_slots(std::span<const std::complex<double>> slots,
                                      double* coefficients) const {
  const size_t m = slots.size();
  const int log_m = std::countr_zero(m);
  PSM_CHECK(std::has_single_bit(m) && log_m <= log_slots_, m, " slots");
  double* re = coefficients;
  double* im = coefficients + m;
  const double scale = 1.0 / static_cast<double>(m);
  for (size_t j = 0; j < m; ++j) {
    const uint32_t to = place(j, log_m);
    re[to] = slots[j].real() * scale;
    im[to] = slots[j].imag() * scale;
  }
  for (size_t blocks = m / 2, half = 1; blocks > 0; blocks /= 2, half *= 2) {
    for (size_t block = 0; block < blocks; ++block) {
      const double c = twiddle_re_[blocks + block], s = twiddle_im_[blocks + block];
      double* re_low = re + 2 * half * block;
      double* im_low = im + 2 * half * block;
      for (size_t i = 0; i < half; ++i) {
        const double dr = re_low[i] - re_low[i + half], di = im_low[i] - im_low[i + half];
        re_low[i] += re_low[i + half];
        im_low[i] += im_low[i + half];
        re_low[i + half] = dr * c + di * s;
        im_low[i + half] = di * c - dr * s;
      }
    }
  }
}

void Embedding::slots_of_coefficients(const double* coefficients,
                                      std::span<std::complex<double>> slots) const {
  const size_t m = slots.size();
  const int log_m = std::countr_zero(m);
  PSM_CHECK(std::has_single_bit(m) && log_m <= log_slots_, m, " slots");
  SecretVector<double> re(m), im(m);  // what is decoded may have been decrypted
  std::copy_n(coefficients, m, re.begin());
  std::copy_n(coefficients + m, m, im.begin());
  for (size_t blocks = 1, half = m / 2; blocks < m; blocks *= 2, half /= 2) {
    for (size_t block = 0; block < blocks; ++block) {
      const double c = twiddle_re_[blocks + block], s = twiddle_im_[blocks + block];
      double* re_low = re.data() + 2 * half * block;
      double* im_low = im.data() + 2 * half * block;
      for (size_t i = 0; i < half; ++i) {
        const double r = re_low[i + half] * c - im_low[i + half] * s;
        const double t = re_low[i + half] * s + im_low[i + half] * c;
        re_low[i + half] = re_low[i] - r;
        im_low[i + half] = im_low[i] - t;
        re_low[i] += r;
        im_low[i] += t;
      }
    }
  }
  for (size_t j = 0; j < m; ++j) slots[j] = {re[place(j, log_m)], im[place(j, log_m)]};
}

}  // namespace psm::ckks
