// How the polynomial form of a model is made (attention/reference/polynomial_model.h): the choices that a
// checkpoint keeps.
#pragma once

#include <optional>
#include <string_view>

#include "ckks/base/files/json.h"

namespace psm::attention {

// What takes the place of softmax in a model that was trained with it.
enum class SoftmaxForm { kTaylorGoldschmidt, kNormaliseSquare };
std::string_view name_of(SoftmaxForm form);
SoftmaxForm softmax_form_from(std::string_view name);  // throws psm::Error on anything else

// How 1/x and 1/sqrt(x) are made: in the fewest levels that have the error (approx/inverse.h), or by
// Goldschmidt's plain iterations as in the paper: of 1/x 21, 22 levels, whatever the error, of 1/sqrt(x),
// where it names no number, the fewest that have the error.
enum class DivisionForm { kRelaxed, kGoldschmidt };
std::string_view name_of(DivisionForm form);
DivisionForm division_form_from(std::string_view name);  // throws psm::Error on anything else

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

// For the metadata of a checkpoint; doubles come back bit by bit. Reading throws psm::Error on members that are
// missing or malformed.
Json options_to_json(const PolynomialOptions&);
PolynomialOptions options_from_json(const Json&);

}  // namespace psm::attention
