#include "attention/shape/polynomial_options.h"

#include "attention/shape/members.h"

namespace psm::attention {

PolynomialOptions paper_polynomials() {
  return {
      .margin = kMargin, .division = DivisionForm::kGoldschmidt, .inverse_sqrt = DivisionForm::kGoldschmidt};
}

template <typename Members, Either<PolynomialOptions> Options>
void describe(Members& members, Options& options) {
  members.optional("margin", options.margin);
  members("norm_error", options.norm_error);
  members("inverse_error", options.inverse_error);
  members("gelu_error", options.gelu_error);
  members("division", options.division);
  members("inverse_sqrt", options.inverse_sqrt);
  members("softmax", options.softmax);
  members("client_norm", options.client_norm);
}

Json options_to_json(const PolynomialOptions& options) { return to_json(options); }

PolynomialOptions options_from_json(const Json& json) {
  PolynomialOptions options;
  from_json(json, "options of the polynomials", options);
  return options;
}

}  // namespace psm::attention
