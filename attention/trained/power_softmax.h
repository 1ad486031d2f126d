// The weights of one row of scores: PowerSoftmax in the paper's forms, and the two baselines. Each is a small
// differentiable operation with its forward and its vector-Jacobian product side by side.
//
// Notation: x_0 .. x_{L-1} are the row's scores, after 1/sqrt(d_k) and the causal mask, which multiplies and
// so removes masked terms from every sum: L = t + 1 for the query at position t. p = power (even), w_j is the
// attention weight, D the denominator, g = dL/dw the incoming gradient.
//
// All forms are  w_j = y_j^p / D  with a scaled row y, so all share one vector-Jacobian product:
//
//     dL/dy_j = (p y_j^{p-1} / D) (g_j - sum_i g_i w_i)                                   (*)
//
// Scalar is float in training and double in the reference and in gradient checks. Thread-safe: no state.
#pragma once

#include <algorithm>
#include <cstddef>

#include "attention/shape/config.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::attention {

// The form, p, epsilon and delta are the configuration's (PowerForm in attention/shape/config.h).
//
// kPlain is undefined (NaN) if all scores are zero. In kLipschitz 1/D is 1/epsilon^2-Lipschitz.
// kStable is the form of the first training stage, y = x / c. c is differentiated, not held constant. With epsilon = 0
// the form does not depend on c and both are the same; with epsilon > 0 only the full derivative is the gradient. If
// several |x_i| are the largest, the first of them gets c's share (a subgradient).
// kLengthAgnostic is the form that runs encrypted and in the last training stage. No constant in the stable form equals
// its epsilon, because there each row is divided by its own c.

// What y = x * stretch takes: 1/c in the stable form, of the row's largest magnitude.
template <typename Scalar>
Scalar stretch_of(const ModelConfig& config, const Scalar* x, int length) {
  if (config.form != PowerForm::kStable) return 1;
  return 1 / (nn::row_kernels<Scalar>().magnitude(x, static_cast<size_t>(length)) +
              static_cast<Scalar>(config.stable_delta));
}

// The denominator D of w_j = y_j^p / D, in each form, from sum_i y_i^p.
template <typename Scalar>
Scalar denominator(const ModelConfig& config, Scalar sum, int length) {
  if (config.form == PowerForm::kPlain) return sum;
  const int terms = config.form == PowerForm::kLengthAgnostic ? length : 1;
  return sum + static_cast<Scalar>(config.epsilon * terms);
}

// Writes the weights w of a row of scores x.
template <typename Scalar>
void power_softmax(const ModelConfig& config, const Scalar* x, int length, Scalar* w) {
  const auto count = static_cast<size_t>(length);
  const Scalar stretch = stretch_of(config, x, length);
  const Scalar sum = nn::row_kernels<Scalar>().powers(x, stretch, config.power, count, w);
  nn::row_kernels<Scalar>().scale(w, 1 / denominator(config, sum, length), count);
}

// The vector-Jacobian product (*) of a form from x, w and g: grad_x <- dL/dx.
template <typename Scalar>
void power_softmax_vjp(const ModelConfig& config, const Scalar* x, const Scalar* w, const Scalar* g,
                       int length, Scalar* grad_x) {
  const auto count = static_cast<size_t>(length);
  const int p = config.power;
  const Scalar stretch = stretch_of(config, x, length);
  // y^p term by term: x^p alone may leave float's range in the stable form.
  const Scalar sum = nn::row_kernels<Scalar>().powers(x, stretch, p, count, static_cast<Scalar*>(nullptr));
  const Scalar inner = nn::row_kernels<Scalar>().dot(g, w, count);
  const Scalar scale = static_cast<Scalar>(p) * stretch / denominator(config, sum, length);
  nn::row_kernels<Scalar>().powers_vjp(x, stretch, p, g, inner, scale, count, grad_x);
  if (config.form != PowerForm::kStable) return;
  // y = x/c: dL/dc = -sum_j (dL/dx_j with c constant) y_j = -scale sum_j y_j^p (g_j - inner), and of that sum
  // inner D - inner (D - epsilon) is left; dc/dx_k = sign(x_k) at the peak k.
  const Scalar grad_c = -scale * inner * static_cast<Scalar>(config.epsilon);
  const size_t k = nn::row_kernels<Scalar>().peak(x, count);
  grad_x[k] += x[k] < 0 ? -grad_c : grad_c;
}

// mean_i x_i^p + epsilon: the denominator of the encrypted form. Its range decides the depth of the division.
template <typename Scalar>
Scalar length_agnostic_denominator(const ModelConfig& config, const Scalar* x, int length) {
  return static_cast<Scalar>(config.epsilon) +
         nn::row_kernels<Scalar>().powers(x, Scalar(1), config.power, static_cast<size_t>(length),
                                          static_cast<Scalar*>(nullptr)) /
             static_cast<Scalar>(length);
}

// The weights of a row by the model's kind of attention. Only here is it chosen.
//
//     kSoftmax        w_j = e^{x_j - m} / sum_i e^{x_i - m},  m = max_i x_i so that nothing overflows: the baseline,
//                     eq. attention.   dL/dx_j = w_j (g_j - sum_i g_i w_i)
//     kPowerSoftmax   the forms above
//     kScaledRelu     w_j = relu(x_j) / L,  pointwise, so that weights do not add up to one (Zimerman et al.,
//                     "Converting Transformers to Polynomial Form for Secure Inference over Homomorphic Encryption",
//                     2024; the baseline of fig. robertaWikitext).   dL/dx_j = g_j / L where x_j > 0, else 0
//
// polynomial_weights.h has the polynomial forms.

// Computes weights w[0..length) from scores x[0..length), another array.
template <typename Scalar>
void row_weights(const ModelConfig& config, const Scalar* x, int length, Scalar* w) {
  const auto count = static_cast<size_t>(length);
  const nn::RowKernels<Scalar>& kernels = nn::row_kernels<Scalar>();
  switch (config.attention) {
    case AttentionKind::kSoftmax: {
      const Scalar sum = kernels.exponentials_above(x, kernels.highest(x, count), count, w);
      return kernels.scale(w, 1 / sum, count);
    }
    case AttentionKind::kPowerSoftmax:
      return power_softmax(config, x, length, w);
    case AttentionKind::kScaledRelu: {
      const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
      for (int j = 0; j < length; ++j) w[j] = std::max(x[j], Scalar(0)) * scale;
    }
  }
}

// grad_x <- dL/dx from x, w = row_weights(x) and g = dL/dw; it may be the array of g.
template <typename Scalar>
void row_weights_vjp(const ModelConfig& config, const Scalar* x, const Scalar* w, const Scalar* g, int length,
                     Scalar* grad_x) {
  const auto count = static_cast<size_t>(length);
  const nn::RowKernels<Scalar>& kernels = nn::row_kernels<Scalar>();
  switch (config.attention) {
    case AttentionKind::kSoftmax:
      return kernels.softmax_vjp(w, g, kernels.dot(g, w, count), count, grad_x);
    case AttentionKind::kPowerSoftmax:
      return power_softmax_vjp(config, x, w, g, length, grad_x);
    case AttentionKind::kScaledRelu: {
      const Scalar scale = Scalar(1) / static_cast<Scalar>(length);
#pragma omp simd
      for (int j = 0; j < length; ++j) grad_x[j] = x[j] > 0 ? g[j] * scale : Scalar(0);
    }
  }
}

}  // namespace psm::attention
