#include "attention/trained/power_softmax.h"

#include <cstddef>

#include "ckks/base/error.h"
#include "nn/kernels/simd_kernels.h"

namespace psm::attention {
namespace {

// What y = x * stretch takes: 1/c in the stable form, of the row's largest magnitude.
template <typename Scalar>
Scalar stretch_of(PowerForm form, const Scalar* x, int length, const PowerParameters& parameters) {
  if (form != PowerForm::kStable) return 1;
  return 1 / (nn::row_kernels<Scalar>().magnitude(x, static_cast<size_t>(length)) +
              static_cast<Scalar>(parameters.delta));
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

double even_power(double x, int power) { return nn::integer_power(x * x, power / 2); }

template <typename Scalar>
void power_softmax(PowerForm form, const Scalar* x, int length, const PowerParameters& parameters,
                   Scalar* w) {
  const auto count = static_cast<size_t>(length);
  const Scalar stretch = stretch_of(form, x, length, parameters);
  const Scalar sum = nn::row_kernels<Scalar>().powers(x, stretch, parameters.power, count, w);
  nn::row_kernels<Scalar>().scale(w, 1 / denominator(form, sum, length, parameters), count);
}

template <typename Scalar>
void power_softmax_vjp(PowerForm form, const Scalar* x, const Scalar* w, const Scalar* g, int length,
                       const PowerParameters& parameters, Scalar* grad_x) {
  const auto count = static_cast<size_t>(length);
  const int p = parameters.power;
  const Scalar stretch = stretch_of(form, x, length, parameters);
  // y^p term by term: x^p alone may leave float's range in the stable form.
  const Scalar sum = nn::row_kernels<Scalar>().powers(x, stretch, p, count, static_cast<Scalar*>(nullptr));
  const Scalar inner = nn::row_kernels<Scalar>().dot(g, w, count);
  const Scalar scale = static_cast<Scalar>(p) * stretch / denominator(form, sum, length, parameters);
  nn::row_kernels<Scalar>().powers_vjp(x, stretch, p, g, inner, scale, count, grad_x);
  if (form != PowerForm::kStable) return;
  // y = x/c: dL/dc = -sum_j (dL/dx_j with c constant) y_j = -scale sum_j y_j^p (g_j - inner), and of that sum
  // inner D - inner (D - epsilon) is left; dc/dx_k = sign(x_k) at the peak k.
  const Scalar grad_c = -scale * inner * static_cast<Scalar>(parameters.epsilon);
  const size_t k = nn::row_kernels<Scalar>().peak(x, count);
  grad_x[k] += x[k] < 0 ? -grad_c : grad_c;
}

template <typename Scalar>
Scalar length_agnostic_denominator(const Scalar* x, int length, const PowerParameters& parameters) {
  return static_cast<Scalar>(parameters.epsilon) +
         nn::row_kernels<Scalar>().powers(x, Scalar(1), parameters.power, static_cast<size_t>(length),
                                          static_cast<Scalar*>(nullptr)) /
             static_cast<Scalar>(length);
}

#define PSM_INSTANTIATE(Scalar)                                                                        \
  template void power_softmax<Scalar>(PowerForm, const Scalar*, int, const PowerParameters&, Scalar*); \
  template void power_softmax_vjp<Scalar>(PowerForm, const Scalar*, const Scalar*, const Scalar*, int, \
                                          const PowerParameters&, Scalar*);                            \
  template Scalar length_agnostic_denominator<Scalar>(const Scalar*, int, const PowerParameters&);
PSM_INSTANTIATE(float)
PSM_INSTANTIATE(double)
#undef PSM_INSTANTIATE

}  // namespace psm::attention
