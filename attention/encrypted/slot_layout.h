// Matrices, vectors and the norm before a matrix, arranged in slots (packing.h). The folding of weights uses
// them (folded_weights.h, encrypted_block.h).
#pragma once

#include <functional>
#include <vector>

#include "attention/ends/packing.h"
#include "attention/reference/polynomial_model.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::attention {

// A real matrix with the rows and columns that the layouts name, in slot order.
nn::SlotMatrix arrange(const FeatureLayout& rows, const FeatureLayout& columns,
                       const std::function<double(int row, int column)>& entry);

// The same of a mere shape.
nn::SlotMatrix shape_of(const FeatureLayout& rows, const FeatureLayout& columns);

// A real vector as one plaintext of period F for each ciphertext. An empty vector, a shape's, gives plaintexts without
// entries.
std::vector<ckks::Plain> arrange(const FeatureLayout&, int features, const std::vector<double>&);

// R of each real feature. The two features of a complex one have the same.
std::vector<double> residual_scale(const PolynomialModel&, const Packing&);

// The argument of 1/sqrt for x' = x / R: sum_f weight[f] |x'_f|^2 + offset = input_scale (variance + epsilon)
// + input_offset. An RMSNorm has the mean square.
struct FoldedNorm {
  std::vector<double> weight;
  double offset = 0;
};
FoldedNorm fold_norm(const PolynomialModel&, const Packing&, const approx::Approximation& inverse_sqrt);

// A norm's result for the matrices after it: gamma . unit . h' + beta, h' the slots. A matrix without entries gives
// another without.
struct NormReading {
  const std::vector<float>&gamma, &beta;  // no beta in RMSNorm
  std::vector<double> unit;               // of each real feature

  // W diag(gamma unit) scale, for rows of a layout and the state's columns.
  nn::SlotMatrix matrix(const std::vector<float>& w, const FeatureLayout& rows, const FeatureLayout& state,
                        double scale) const;
  // b + W beta; b may be empty.
  std::vector<double> bias(const std::vector<float>& w, const std::vector<float>& b) const;
  // max_i |W_i diag(gamma)| sqrt(d) + |b'_i|: a bound of |W n + b| by Cauchy and Schwarz, because a
  // normalised x has length sqrt(d) at most. 1 if all is zero.
  double bound(const std::vector<float>& w, const std::vector<double>& bias) const;
};

std::vector<double> scaled(std::vector<double>, double factor);

// For the norm whose polynomial is `inverse_sqrt`; nullptr if the client computes the norm.
NormReading reading_of(const std::vector<float>& gamma, const std::vector<float>& beta,
                       const PolynomialModel&, const Packing&, const approx::Approximation* inverse_sqrt);
// The readings of a layer's attention and of its feed-forward part.
NormReading attention_reading(const PolynomialModel&, const Packing&, int layer);
NormReading feed_reading(const PolynomialModel&, const Packing&, int layer);

}  // namespace psm::attention
