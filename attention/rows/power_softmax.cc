#include "attention/rows/power_softmax.h"

#include <cmath>
#include <cstddef>

#include "ckks/base/error.h"
#include "nn/kernels/row_maxima.h"

namespace psm::attention {
namespace {

template <typename Scalar>
Scalar integer_power(Scalar x, int exponent) {
  Scalar result = 1;
  for (; exponent > 0; exponent >>= 1, x *= x)
    if (exponent & 1) result *= x;
  return result;
}

template <typename Scalar>
Scalar sum_of_powers(const Scalar* x, int length, int power) {
  Scalar sum = 0;
  if (power == 4) {
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < length; ++i) sum += (x[i] * x[i]) * (x[i] * x[i]);
  } else {
    for (int i = 0; i < length; ++i) sum += even_power(x[i], power);
  }
  return sum;
}

// w_j = scale * (x_j * stretch)^p
template <typename Scalar>
void scaled_powers(const Scalar* x, int length, int power, Scalar stretch, Scalar scale, Scalar* w) {
  if (power == 4) {
#pragma omp simd
    for (int j = 0; j < length; ++j) {
      const Scalar y = x[j] * stretch;
      w[j] = (y * y) * (y * y) * scale;
    }
  } else {
    for (int j = 0; j < length; ++j) w[j] = even_power(x[j] * stretch, power) * scale;
  }
}

// 1/c of the stable form, c = |x_k| + delta with the peak k
template <typename Scalar>
Scalar stretch_by(Scalar peak_score, double delta) {
  return 1 / (std::abs(peak_score) + static_cast<Scalar>(delta));
}

// The denominator D of w_j = y_j^p / D, in each form, from sum_i y_i^p.
template <typename Scalar>
Scalar denominator(PowerForm form, Scalar sum, int length, const PowerParameters& parameters) {
  switch (form) {
    case PowerForm::kPlain:
      return sum;
    case PowerForm::kLipschitz:
    case PowerForm::kStable:
      return sum + static_cast<Scalar>(parameters.epsilon);
    case PowerForm::kLengthAgnostic:
      return sum + static_cast<Scalar>(parameters.epsilon * length);
  }
  PSM_CHECK(false, "unknown form ", static_cast<int>(form));
  return sum;
}

}  // namespace

template <typename Scalar>
Scalar even_power(Scalar x, int power) {
  return integer_power(x * x, power / 2);
}

template <typename Scalar>
void power_softmax_plain(const Scalar* x, int length, const PowerParameters& parameters, Scalar* w) {
  const Scalar sum = sum_of_powers(x, length, parameters.power);
  scaled_powers(x, length, parameters.power, Scalar(1), 1 / sum, w);
}

template <typename Scalar>
void power_softmax_lipschitz(const Scalar* x, int length, const PowerParameters& parameters, Scalar* w) {
  const Scalar sum = sum_of_powers(x, length, parameters.power);
  scaled_powers(x, length, parameters.power, Scalar(1), 1 / (static_cast<Scalar>(parameters.epsilon) + sum),
                w);
}

template <typename Scalar>
void power_softmax_stable(const Scalar* x, int length, const PowerParameters& parameters, Scalar* w) {
  const Scalar stretch = stretch_by(x[nn::peak(x, static_cast<size_t>(length))], parameters.delta);
  scaled_powers(x, length, parameters.power, stretch, Scalar(1), w);
  Scalar sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < length; ++i) sum += w[i];
  const Scalar inverse = 1 / (static_cast<Scalar>(parameters.epsilon) + sum);
#pragma omp simd
  for (int j = 0; j < length; ++j) w[j] *= inverse;
}

template <typename Scalar>
void power_softmax_length_agnostic(const Scalar* x, int length, const PowerParameters& parameters,
                                   Scalar* w) {
  const Scalar inverse = 1 / length_agnostic_denominator(x, length, parameters);
  scaled_powers(x, length, parameters.power, Scalar(1), inverse / static_cast<Scalar>(length), w);
}

template <typename Scalar>
void power_softmax(PowerForm form, const Scalar* x, int length, const PowerParameters& parameters,
                   Scalar* w) {
  switch (form) {
    case PowerForm::kPlain:
      return power_softmax_plain(x, length, parameters, w);
    case PowerForm::kLipschitz:
      return power_softmax_lipschitz(x, length, parameters, w);
    case PowerForm::kStable:
      return power_softmax_stable(x, length, parameters, w);
    case PowerForm::kLengthAgnostic:
      return power_softmax_length_agnostic(x, length, parameters, w);
  }
}

template <typename Scalar>
void power_softmax_vjp(PowerForm form, const Scalar* x, const Scalar* w, const Scalar* g, int length,
                       const PowerParameters& parameters, Scalar* grad_x) {
  const int p = parameters.power;
  const bool stable = form == PowerForm::kStable;
  const size_t k = stable ? nn::peak(x, static_cast<size_t>(length)) : 0;
  const Scalar stretch = stable ? stretch_by(x[k], parameters.delta) : Scalar(1);
  // (x_i stretch)^p term by term: x^p alone may leave float's range in the stable form.
  Scalar sum = 0, inner = 0;
#pragma omp simd reduction(+ : inner)
  for (int i = 0; i < length; ++i) inner += g[i] * w[i];
  if (p == 4) {
#pragma omp simd reduction(+ : sum)
    for (int j = 0; j < length; ++j) {
      const Scalar y = x[j] * stretch;
      const Scalar cube = y * y * y;
      sum += cube * y;
      grad_x[j] = cube * (g[j] - inner);
    }
  } else {
    for (int j = 0; j < length; ++j) {
      const Scalar y = x[j] * stretch;
      sum += even_power(y, p);
      grad_x[j] = integer_power(y, p - 1) * (g[j] - inner);
    }
  }
  const Scalar scale = static_cast<Scalar>(p) * stretch / denominator(form, sum, length, parameters);
#pragma omp simd
  for (int j = 0; j < length; ++j) grad_x[j] *= scale;
  if (stable) {
    // y = x/c: dL/dc = -sum_j (dL/dx_j with c constant) x_j / c, and dc/dx_k = sign(x_k) at the peak k.
    Scalar grad_c = 0;
#pragma omp simd reduction(+ : grad_c)
    for (int j = 0; j < length; ++j) grad_c -= grad_x[j] * x[j] * stretch;
    grad_x[k] += x[k] < 0 ? -grad_c : grad_c;
  }
}

template <typename Scalar>
Scalar length_agnostic_denominator(const Scalar* x, int length, const PowerParameters& parameters) {
  return static_cast<Scalar>(parameters.epsilon) +
         sum_of_powers(x, length, parameters.power) / static_cast<Scalar>(length);
}

#define PSM_INSTANTIATE(Scalar)                                                                             \
  template Scalar even_power<Scalar>(Scalar, int);                                                          \
  template void power_softmax_plain<Scalar>(const Scalar*, int, const PowerParameters&, Scalar*);           \
  template void power_softmax_lipschitz<Scalar>(const Scalar*, int, const PowerParameters&, Scalar*);       \
  template void power_softmax_stable<Scalar>(const Scalar*, int, const PowerParameters&, Scalar*);          \
  template void power_softmax_length_agnostic<Scalar>(const Scalar*, int, const PowerParameters&, Scalar*); \
  template void power_softmax<Scalar>(PowerForm, const Scalar*, int, const PowerParameters&, Scalar*);      \
  template void power_softmax_vjp<Scalar>(PowerForm, const Scalar*, const Scalar*, const Scalar*, int,      \
                                          const PowerParameters&, Scalar*);                                 \
  template Scalar length_agnostic_denominator<Scalar>(const Scalar*, int, const PowerParameters&);
PSM_INSTANTIATE(float)
PSM_INSTANTIATE(double)
#undef PSM_INSTANTIATE

}  // namespace psm::attention
