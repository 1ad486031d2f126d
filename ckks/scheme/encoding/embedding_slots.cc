#include <algorithm>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/base/secret.h"
#include "ckks/scheme/encoding/embedding.h"

namespace psm::ckks {

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
