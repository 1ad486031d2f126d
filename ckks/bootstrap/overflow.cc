#include "ckks/bootstrap/overflow.h"

#include <cmath>
#include <limits>

namespace psm {

double log2_overflow_probability(int hamming_weight, int k, double margin, int log_n) {
  const int summands = hamming_weight + 1;
  const long double d = summands / 2.0L - (k + 0.5L - margin);
  long double sum = 0, binomial = 1;
  for (int j = 0; j < d && j <= summands; ++j) {
    sum += (j % 2 == 0 ? 1 : -1) * binomial * std::pow(d - j, static_cast<long double>(summands));
    binomial = binomial * (summands - j) / (j + 1);
  }
  if (!(sum > 0)) return -std::numeric_limits<double>::infinity();
  const long double log_factorial = std::lgamma(summands + 1.0L);
  return static_cast<double>(1 + log_n + (std::log(sum) - log_factorial) / std::log(2.0L));
}

}  // namespace psm
