// The polynomial form of a trained model: its weights, and a polynomial for each function that
// is not a polynomial.
//
// In each layer: 1/sqrt(variance) of its norms, the weights of attention (polynomial_weights.h; for
// PowerSoftmax 1/x of its denominator, and only that runs encrypted), and GELU in the form that the model was
// trained with, or SiLU. All else is sums and products already. What acts on the client's own data stays
// exact: the norm of the embedding (kPostNorm), the first layer's first norm, and a language model's final
// norm. A classifier is polynomial to its end: 1/sqrt of its final norm, and the sigmoid of its head.
//
// Intervals: measured ranges, widened. Beyond the upper end of its interval a polynomial is wrong by orders of
// magnitude, and all of a sequence that reads such a value is lost. Variances and GELU's inputs hardly exceed
// what was measured. Denominators do, and above alone: epsilon bounds them below, and a score a quarter larger
// than any measured one makes D = mean_i s_i^p + epsilon 1.25^p times larger. The relaxed 1/x has room for
// that: a level quadruples hi / lo, so with n levels it holds for any
//
//     hi <= reach(n) lo,        reach(n) = 26, 105, 421, 1684, 6736 for n = 4 .. 8 and an error of 2^-8
//
// (approx/goldschmidt.h), and unless a margin is given its interval ends there. Measured: RESULTS.md, "Margins".
// Ranges as measured and options, not the polynomials, are what is stored with a checkpoint; the
// polynomials follow from them.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "approx/approximation.h"
#include "attention/reference/ranges.h"
#include "attention/reference/reference_forward.h"
#include "attention/rows/polynomial_weights.h"
#include "ckks/base/files/json.h"

namespace psm::attention {

inline constexpr double kMargin = 1.25;

struct PolynomialOptions {
  // lo / margin, hi * margin of each interval. None: kMargin, and hi of a relaxed 1/x as large as its levels
  // allow.
  std::optional<double> margin = {};
  double norm_error = 0x1p-10;    // relative, of 1/sqrt
  double inverse_error = 0x1p-8;  // relative, of 1/x: scales a row of attention, one level less than at 2^-12
  double gelu_error = 0x1p-10;    // absolute; of SiLU and of the head's sigmoid too
  DivisionForm division = DivisionForm::kRelaxed;       // of 1/x
  DivisionForm inverse_sqrt = DivisionForm::kRelaxed;   // of 1/sqrt(x)
  SoftmaxForm softmax = SoftmaxForm::kNormaliseSquare;  // of softmax models; error as inverse_error
  bool client_norm = true;  // the client sends the first layer's normalised state too
};

// The paper's polynomials (app. approximations) in place of those of fewest levels.
PolynomialOptions paper_polynomials();

// 1/sqrt(x) as the options want it.
approx::Approximation inverse_sqrt_of(approx::Interval variance, const PolynomialOptions& options);

// The polynomials of one layer.
struct LayerApproximations {
  approx::Approximation inverse_sqrt;
  PolynomialRow attention;
  approx::Approximation gelu;                                     // or SiLU
  std::optional<approx::Approximation> second_inverse_sqrt = {};  // of a sequential block's N2

  const approx::Approximation& inverse() const {
    return attention.parts.front();
  }  // PowerSoftmax models only
};

// Returns the polynomials of a layer with these ranges, which include the margin.
LayerApproximations layer_polynomials(const ModelConfig&, const LayerRanges&, const PolynomialOptions&);

struct PolynomialModel {
  ModelWeights weights;
  Ranges measured;
  Ranges ranges;  // of the intervals: widened
  PolynomialOptions options;
  std::vector<LayerApproximations> layers;
  std::optional<approx::Approximation> final_inverse_sqrt = {}, pooler = {};  // of a classifier

  // Whether the first layer's first norm is computed by the client, exactly.
  bool client_normalises() const {
    return options.client_norm && weights.config.block != BlockKind::kPostNorm;
  }
};

// Throws psm::Error if the model is PowerSoftmax in another form than the length-agnostic one, or the ranges
// are not of this model.
PolynomialModel make_polynomial(const ModelWeights&, const Ranges& measured, const PolynomialOptions& = {});

// The polynomials in place of the model's functions; the model outlives them.
ReplacedFunctions polynomial_functions(const PolynomialModel&);

// The polynomial model in plain double precision, token by token: what the slot program must reproduce.
ForwardResult polynomial_forward(const PolynomialModel&, std::span<const int> tokens);
ForwardResult polynomial_forward(const PolynomialModel&, std::span<const float> patches);

// How often a value leaves its interval: for each layer and function, over the values seen (of many examples
// by attention/batched). The first line that counts anything says which layer to blame.
struct RangeUse {
  int layer = 0;         // the number of layers: the head
  std::string function;  // "1/sqrt(variance)", "1/sqrt(second variance)", "1/denominator" or "score" (all but
                         // PowerSoftmax), "gelu" or "silu", "sigmoid"
  approx::Interval interval;
  approx::Interval measured{};  // what the interval was widened from
  approx::Interval seen{};
  long long values = 0, outside = 0;
};

// Counts what a forward pass of the polynomial model shows (functions.h); the model outlives it.
class RangeUseCounter {
 public:
  explicit RangeUseCounter(const PolynomialModel& model);
  void see(Site site, int layer, std::span<const double> values);
  // Counts what another of the same model has counted.
  void add(const RangeUseCounter& other);
  const std::vector<RangeUse>& uses() const { return uses_; }

 private:
  const PolynomialModel& model_;
  std::vector<RangeUse> uses_;
  std::map<std::pair<Site, int>, size_t> index_;  // which of them a site is
};

// Ranges (as measured, without the margin) and options as JSON, for the metadata of a checkpoint; doubles
// come back bit by bit. Reading throws psm::Error on members that are missing or malformed, or not of this
// model.
Json ranges_to_json(const Ranges&);
Ranges ranges_from_json(const Json&, const ModelConfig&);
Json options_to_json(const PolynomialOptions&);
PolynomialOptions options_from_json(const Json&);

}  // namespace psm::attention
