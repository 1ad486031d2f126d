#include "ckks/scheme/encoding/embedding.h"

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

}  // namespace psm::ckks
