// The polynomial form of a trained model: its weights, and a polynomial for each function that
// is not a polynomial.
//
// These functions are, in each layer: 1/sqrt(variance) of its norms; the weights of attention
// (polynomial_weights.h), for PowerSoftmax 1/x of its denominator, the only form that runs encrypted; and
// SiLU, or GELU in the form that the model was trained with. Everything else is sums and products. Functions
// of the client's own data stay exact: the norm of the embedding (kPostNorm), the first layer's first norm,
// and a language model's final norm. A classifier is polynomial to its end, with 1/sqrt of its final norm and
// the sigmoid of its head.
//
// Intervals are measured ranges, widened. Above its interval a polynomial is wrong by orders of magnitude,
// and every sequence that reads such a value is lost. Variances and GELU's inputs hardly exceed the measured
// ranges. Denominators do, but only upwards: epsilon bounds them below, and a score a quarter larger than any
// measured one makes D = mean_i s_i^p + epsilon about 1.25^p times larger. The relaxed 1/x has room for that.
// A level quadruples hi / lo, so with n levels it holds for any
//
//     hi <= reach(n) lo,        reach(n) = 26, 105, 421, 1684, 6736 for n = 4 .. 8 and an error of 2^-8
//
// (approx/goldschmidt.h). Unless a margin is given, its interval ends there. RESULTS.md (Margins) has
// measurements. A checkpoint stores measured ranges and options, from which the polynomials follow.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "approx/approximation.h"
#include "attention/reference/polynomial_weights.h"
#include "attention/shape/functions.h"
#include "attention/shape/polynomial_options.h"
#include "attention/shape/ranges.h"
#include "attention/shape/weights.h"
#include "attention/trained/batched_model.h"

namespace psm::attention {

// One sequence through a model in double precision: training's forward pass (attention/trained/model.h) on doubles.
// transformers_facts_test.cc compares it with the models of transformers.
//
// `observe` sees every value whose range matters; it may be empty. Every non-polynomial function can be
// replaced by its polynomial, which turns the model into the polynomial one that the slot programs of
// attention/encrypted must reproduce. For many examples use attention/trained/batched_model.h, which does the
// same on floats.

struct ForwardResult {
  std::vector<double> hidden;  // [tokens][d], after the last layer, before the final norm
  std::vector<double> logits;  // [tokens][vocab], or [classes]
};

// Runs the model in config.form. Throws psm::Error on tokens that the model cannot read (examples.h).
// Thread-safe as far as the functions are.
ForwardResult reference_forward(const ModelWeights& weights, std::span<const int> tokens,
                                const ReplacedFunctions& functions = {}, const Observe& observe = {});
// The same for a model of patches: those of one image, patch by patch.
ForwardResult reference_forward(const ModelWeights& weights, std::span<const float> patches,
                                const ReplacedFunctions& functions = {}, const Observe& observe = {});

// The polynomials of one layer.
struct LayerApproximations {
  approx::Approximation inverse_sqrt;
  PolynomialRow attention;
  approx::Approximation gelu;                                     // or SiLU
  std::optional<approx::Approximation> second_inverse_sqrt = {};  // of a sequential block's N2

  // Only PowerSoftmax models have it.
  const approx::Approximation& inverse() const { return attention.parts.front(); }
};

struct PolynomialModel {
  ModelWeights weights;
  Ranges measured;
  Ranges ranges;  // of the intervals: widened
  std::vector<LayerApproximations> layers;
  std::optional<approx::Approximation> final_inverse_sqrt = {}, pooler = {};  // of a classifier
  LayerReader read_layer = {};  // for the encrypted compiler, where `weights` has not all of the layers
};

// Throws psm::Error if the model has PowerSoftmax in another form than the length-agnostic one, or if the
// ranges are not of this model.
PolynomialModel make_polynomial(ModelWeights, const Ranges& measured, const PolynomialOptions& = {});

// The polynomial in place of 1/sqrt at a norm, or nullptr if the client computes the norm exactly.
const approx::Approximation* inverse_sqrt_at(const PolynomialModel&, Site site, int layer);

// The polynomials in place of the model's functions. The model must outlive them.
ReplacedFunctions polynomial_functions(const PolynomialModel&);

// The polynomial model in fp32, for many examples. The model must outlive it.
inline BatchedModel batched(const PolynomialModel& model) {
  return BatchedModel(model.weights, polynomial_functions(model));
}

// The polynomial model in double precision, token by token. The slot program must reproduce it.
ForwardResult polynomial_forward(const PolynomialModel& model, const auto& example) {
  return reference_forward(model.weights, example, polynomial_functions(model));
}

}  // namespace psm::attention
