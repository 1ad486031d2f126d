#include "ckks/bootstrap/overflow.h"

#include <cmath>
#include <limits>
#include <vector>

#include "ckks/base/error.h"

namespace psm::ckks {

int largest_multiple(int hamming_weight) { return (hamming_weight + 1) / 2; }

double multiple_probability(int hamming_weight, double u) {
  const int order = hamming_weight + 1;
  // Begins with M_1 at the points u + order/2 - j and ends with M_order at the first of them, each spline
  // with its support moved to [0, n].
  const double first = u + order / 2.0;
  std::vector<double> spline(static_cast<size_t>(order));
  for (int j = 0; j < order; ++j) spline[j] = first - j > 0 && first - j <= 1 ? 1 : 0;
  for (int n = 2; n <= order; ++n) {
    for (int j = 0; j + n <= order; ++j) {
      const double at = first - j;
      spline[j] = (at * spline[j] + (n - at) * spline[j + 1]) / (n - 1);
    }
  }
  return spline[0];
}

double log2_multiple_beyond(int hamming_weight, int i, double margin, int log_count) {
  PSM_CHECK(hamming_weight >= 1 && i >= 0 && margin >= 0 && margin < 0.5, hamming_weight, " ", i, " ",
            margin);
  // On either side the density falls with the distance from 0, so no offset makes more of it than the margin.
  double sum = 0;
  for (int j = largest_multiple(hamming_weight); j > i; --j)
    sum += 2 * multiple_probability(hamming_weight, j - margin);
  return sum > 0 ? std::log2(sum) + log_count : -std::numeric_limits<double>::infinity();
}

}  // namespace psm::ckks
