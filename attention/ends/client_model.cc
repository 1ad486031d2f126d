#include "attention/ends/client_model.h"

namespace psm::attention {
namespace {

std::string numbered(const char* name, int of, int ciphertext) {
  return of == 1 ? name : name + std::to_string(ciphertext);
}

}  // namespace

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

std::string input_name(const Places& packing, const char* name, int ciphertext) {
  return numbered(name, packing.state_ciphertexts(), ciphertext);
}

std::string class_output(const Places& packing, int ciphertext) {
  return numbered("logits", class_ciphertexts(packing), ciphertext);
}

}  // namespace psm::attention
