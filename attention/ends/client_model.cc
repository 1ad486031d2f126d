#include "attention/ends/client_model.h"

namespace psm::attention {

Centred centre(std::span<const double> x, const ClientShape& shape) {
  const size_t d = static_cast<size_t>(shape.width);
  Centred result{{x.begin(), x.end()}, {}};
  for (size_t row = 0; row < x.size(); row += d) {
    double mean = 0, variance = 0;
    for (size_t f = 0; f < d; ++f) mean += x[row + f] / static_cast<double>(d);
    if (!shape.removes_mean) mean = 0;
    for (size_t f = 0; f < d; ++f) {
      result.x[row + f] -= mean;
      variance += result.x[row + f] * result.x[row + f] / static_cast<double>(d);
    }
    result.variance.push_back(variance);
  }
  return result;
}

std::vector<std::string> ciphertext_names(const std::string& name, int count) {
  if (count == 1) return {name};
  std::vector<std::string> names;
  for (int c = 0; c < count; ++c) names.push_back(name + std::to_string(c));
  return names;
}

}  // namespace psm::attention
