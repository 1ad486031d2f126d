#include "cmd/generation/client/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "ckks/base/random/training_random.h"

namespace psm::cmd {

int Sampler::pick(std::span<const double> logits, int position) const {
  std::vector<double> z(logits.begin(), logits.end());
  for (double& value : z)
    if (std::isnan(value)) value = -INFINITY;
  std::vector<int> order(z.size());
  std::iota(order.begin(), order.end(), 0);
  const size_t most = temperature == 0 ? 1 : top_k > 0 ? std::min<size_t>(top_k, z.size()) : z.size();
  std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(most), order.end(),
                    [&](int a, int b) { return z[a] != z[b] ? z[a] > z[b] : a < b; });
  const double largest = z[order[0]];
  if (temperature == 0 || !std::isfinite(largest)) return order[0];
  std::vector<double> sums;
  double sum = 0;
  for (size_t i = 0; i < most; ++i) sums.push_back(sum += std::exp((z[order[i]] - largest) / temperature));
  TrainingRandom random = TrainingRandom(seed).split(static_cast<uint64_t>(position));
  const double drawn = random.uniform() * sum;
  return order[std::min<size_t>(std::upper_bound(sums.begin(), sums.end(), drawn) - sums.begin(), most - 1)];
}

}  // namespace psm::cmd
