#include <bit>

#include "ckks/base/error.h"
#include "ckks/scheme/encoding/embedding.h"

namespace psm::ckks {

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

}  // namespace psm::ckks
