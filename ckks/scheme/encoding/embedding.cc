#include "ckks/scheme/encoding/embedding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/secret.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/ring/arithmetic/ntt.h"

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

// By Taylor's series in integers: numbers below 1 are multiples of 2^-128, and errors stay below 2^-120. A double has
// 53 bits, so that it is the nearest but for one number in 2^60.
namespace {

constexpr uint128_t kQuarterPi = uint128_t{0xc90fdaa22168c234} << 64 | 0xc4c6628b80dc1cd1;

// a b / 2^128, rounded down.
uint128_t product(uint128_t a, uint128_t b) {
  const uint128_t a0 = static_cast<uint64_t>(a), a1 = a >> 64, b0 = static_cast<uint64_t>(b), b1 = b >> 64;
  const uint128_t low = a0 * b1 + (a0 * b0 >> 64), middle = a1 * b0 + static_cast<uint64_t>(low);
  return a1 * b1 + (low >> 64) + (middle >> 64);
}

double to_double(uint128_t x) { return std::ldexp(static_cast<double>(x), -128); }

}  // namespace

std::complex<double> unit_root(uint64_t k, uint64_t n) {
  PSM_CHECK(std::has_single_bit(n) && n <= uint64_t{1} << 60, "n = ", n);
  // In octants: k / n = (octant + place / n) / 8, and odd octants are mirrored.
  const uint64_t eighths = 8 * (k & (n - 1)), octant = eighths / n;
  const uint64_t place = octant % 2 == 0 ? eighths % n : n - eighths % n;
  double cosine = 1, sine = 0;
  if (place != 0) {
    const uint128_t x =
        place == n ? kQuarterPi : product(kQuarterPi, uint128_t{place} << (128 - std::countr_zero(n)));
    uint128_t term = x, sum = x, below_one = 0;
    for (unsigned power = 2; term != 0; ++power) {
      term = product(term, x) / power;
      // 1 - cos x = x^2/2 - x^4/24 + ..., sin x = x - x^3/6 + ...
      uint128_t& of = power % 2 == 0 ? below_one : sum;
      of = power % 4 == 0 || power % 4 == 3 ? of - term : of + term;
    }
    cosine = to_double(0 - below_one);
    sine = to_double(sum);
  }
  if ((octant + 1) / 2 % 2 == 1) std::swap(cosine, sine);
  return {octant >= 2 && octant < 6 ? -cosine : cosine, octant >= 4 ? -sine : sine};
}

}  // namespace psm::ckks
