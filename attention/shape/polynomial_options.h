// How the polynomial form of a model is made (attention/reference/polynomial_model.h): the choices that a
// checkpoint keeps.
#pragma once

#include <optional>
#include <string_view>

#include "attention/shape/config.h"

namespace psm::attention {

// How 1/x and 1/sqrt(x) are made: in the fewest levels that reach the error (approx/inverse.h), or by
// Goldschmidt's plain iterations as in the paper. These are 21 for 1/x, 22 levels, whatever the error. For
// 1/sqrt(x) the paper names no number, so the fewest that reach the error are taken.
enum class DivisionForm { kRelaxed, kGoldschmidt };
inline constexpr std::string_view kDivisionForms[] = {"relaxed", "goldschmidt"};
constexpr Names names_of(DivisionForm) { return {"form of the division", kDivisionForms}; }

inline constexpr double kMargin = 1.25;

struct PolynomialOptions {
  // Intervals become [lo / margin, hi * margin]. Without it margin is kMargin, and hi of a relaxed 1/x is as
  // large as its levels allow.
  std::optional<double> margin = {};
  double norm_error = 0x1p-10;    // relative, of 1/sqrt
  double inverse_error = 0x1p-8;  // relative, of 1/x: scales a row of attention, one level less than at 2^-12
  double gelu_error = 0x1p-10;    // absolute; of SiLU and of the head's sigmoid too
  DivisionForm division = DivisionForm::kRelaxed;

  bool operator==(const PolynomialOptions&) const = default;
};

// The paper's polynomials (app. approximations) instead of those with the fewest levels.
inline PolynomialOptions paper_polynomials() {
  return {.margin = kMargin, .division = DivisionForm::kGoldschmidt};
}

}  // namespace psm::attention
