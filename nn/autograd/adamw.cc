#include "nn/autograd/adamw.h"

#include <cmath>
#include <numbers>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {
constexpr size_t kChunk = 4096;  // the unit of the fixed summation order and of the division of work
}

double LearningRate::at(size_t step) const {
  const double n = static_cast<double>(step);
  if (step < warmup) return peak * (n + 1) / static_cast<double>(warmup);
  if (step >= total) return peak * floor;
  const double progress = (n - warmup) / std::max<double>(1.0, static_cast<double>(total - warmup));
  return peak * (floor + (1 - floor) * 0.5 * (1 + std::cos(std::numbers::pi * progress)));
}

AdamW::AdamW(const AdamWOptions& options, std::vector<bool> decays) : options_(options) {
  for (bool decays_here : decays) decay_.push_back(decays_here ? static_cast<float>(options.decay) : 0.0f);
  state_.m.assign(decays.size(), 0.0f);
  state_.v.assign(decays.size(), 0.0f);
  partial_norms_.resize((decays.size() + kChunk - 1) / kChunk);
}

double AdamW::step(std::span<float> values, std::span<const float> grads, double learning_rate) {
  PSM_CHECK(values.size() == decay_.size() && grads.size() == decay_.size(), values.size());
  const size_t count = values.size();
  parallel_for(0, partial_norms_.size(), [&](size_t chunk) {
    double sum = 0;
    for (size_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i)
      sum += static_cast<double>(grads[i]) * grads[i];
    partial_norms_[chunk] = sum;
  });
  double square = 0;
  for (double partial : partial_norms_) square += partial;
  const double norm = std::sqrt(square);
  if (!std::isfinite(norm)) return norm;

  const double n = static_cast<double>(++state_.steps);
  const auto narrow = [](double x) { return static_cast<float>(x); };
  const AdamWConstants constants = {.scale = narrow(norm > options_.clip ? options_.clip / norm : 1.0),
                                    .b1 = narrow(options_.beta1),
                                    .b2 = narrow(options_.beta2),
                                    .correct_m = narrow(1 / (1 - std::pow(options_.beta1, n))),
                                    .correct_v = narrow(1 / (1 - std::pow(options_.beta2, n))),
                                    .epsilon = narrow(options_.epsilon),
                                    .rate = narrow(learning_rate)};
  parallel_for(0, partial_norms_.size(), [&](size_t chunk) {
    const size_t begin = chunk * kChunk;
    simd_kernels().adamw(constants, decay_.data() + begin, grads.data() + begin,
                         std::min(count - begin, kChunk), values.data() + begin, state_.m.data() + begin,
                         state_.v.data() + begin);
  });
  return norm;
}

}  // namespace psm::nn
