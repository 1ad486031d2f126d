// The polynomial form of a trained model: its weights, and a polynomial for each function that
// is none.
//
// In each layer: 1/sqrt(variance) of LayerNorm, the weights of attention (polynomial_weights.h; for
// PowerSoftmax 1/x of its denominator, and only that runs encrypted), and gelu(z) = z sigmoid(1.702 z). All else is sums and products already. The first layer's norm and the final norm act on
// what the client holds in the clear and stay exact.
//
// Intervals: measured ranges, widened by a margin. They, not the polynomials, are what is stored with a
// checkpoint; the polynomials follow from them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "attention/polynomial_weights.h"
#include "attention/ranges.h"
#include "attention/reference_forward.h"
#include "ckks/base/json.h"

namespace psm {

struct PolynomialOptions {
  double margin = 1.25;           // lo / margin, hi * margin of each interval
  double norm_error = 0x1p-10;    // relative, of 1/sqrt
  double inverse_error = 0x1p-8;  // relative, of 1/x: scales a row of attention, one level less than at 2^-12
  double gelu_error = 0x1p-10;    // absolute
  SoftmaxForm softmax = SoftmaxForm::kNormaliseSquare;  // of softmax models; error as inverse_error
  bool client_norm = true;        // the client sends the first layer's normalised state too
};

// The polynomials of one layer.
struct LayerApproximations {
  Approximation inverse_sqrt;
  PolynomialWeights attention;
  Approximation gelu;

  const Approximation& inverse() const { return attention.parts.front(); }  // PowerSoftmax models only
};

struct PolynomialModel {
  ModelWeights weights;
  Ranges ranges;  // with the margin
  PolynomialOptions options;
  std::vector<LayerApproximations> layers;
};

// Throws psm::Error if the model is PowerSoftmax in another form than the length-agnostic one, or the ranges
// are not of this model.
PolynomialModel make_polynomial(const ModelWeights&, const Ranges& measured, const PolynomialOptions& = {});

// The polynomial model in plain double precision, token by token: what the slot program must reproduce.
ForwardResult polynomial_forward(const PolynomialModel&, std::span<const int> tokens);

// How often a value leaves its interval: for each layer and function, over the values seen. The first line
// that counts anything says which layer to blame.
struct RangeUse {
  int layer = 0;
  std::string function;  // "1/sqrt(variance)", "1/denominator" or "score" (all but PowerSoftmax), "gelu"
  Interval interval;
  Interval seen{};
  long long values = 0, outside = 0;
};
std::vector<RangeUse> count_range_leaves(const PolynomialModel&, std::span<const std::vector<int>> sequences);

// Ranges (as measured, without the margin) and options as JSON, for the metadata of a checkpoint; doubles
// come back bit by bit. Reading throws psm::Error on members that are missing or malformed, or not of this
// model.
Json ranges_to_json(const Ranges&);
Ranges ranges_from_json(const Json&, const ModelConfig&);
Json options_to_json(const PolynomialOptions&);
PolynomialOptions options_from_json(const Json&);

}  // namespace psm
