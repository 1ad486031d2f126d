#include "nn/autograd/adamw.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"

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

void AdamW::set_state(AdamWState state) {
  PSM_CHECK(state.m.size() == decay_.size() && state.v.size() == decay_.size(), state.m.size());
  state_ = std::move(state);
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
  const float b1 = static_cast<float>(options_.beta1), b2 = static_cast<float>(options_.beta2);
  const float scale = static_cast<float>(norm > options_.clip ? options_.clip / norm : 1.0);
  const float rate = static_cast<float>(learning_rate), epsilon = static_cast<float>(options_.epsilon);
  const float correct_m = static_cast<float>(1 / (1 - std::pow(options_.beta1, n)));
  const float correct_v = static_cast<float>(1 / (1 - std::pow(options_.beta2, n)));
  parallel_for(0, partial_norms_.size(), [&](size_t chunk) {
    const size_t end = std::min(count, (chunk + 1) * kChunk);
    float *w = values.data(), *m = state_.m.data(), *v = state_.v.data();
#pragma omp simd
    for (size_t i = chunk * kChunk; i < end; ++i) {
      const float g = grads[i] * scale;
      m[i] = b1 * m[i] + (1 - b1) * g;
      v[i] = b2 * v[i] + (1 - b2) * g * g;
      w[i] -= rate * (m[i] * correct_m / (std::sqrt(v[i] * correct_v) + epsilon) + decay_[i] * w[i]);
    }
  });
  return norm;
}

}  // namespace psm::nn
