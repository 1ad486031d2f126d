#include "attention/shape/polynomial_options.h"

#include <string>

#include "ckks/base/error.h"

namespace psm::attention {

std::string_view name_of(SoftmaxForm form) {
  return form == SoftmaxForm::kTaylorGoldschmidt ? "taylor_goldschmidt" : "normalise_square";
}

SoftmaxForm softmax_form_from(std::string_view name) {
  for (SoftmaxForm form : {SoftmaxForm::kTaylorGoldschmidt, SoftmaxForm::kNormaliseSquare})
    if (name_of(form) == name) return form;
  throw Error(message("unknown polynomial form of softmax \"", name,
                      "\"; use one of: taylor_goldschmidt, normalise_square"));
}

std::string_view name_of(DivisionForm form) {
  return form == DivisionForm::kRelaxed ? "relaxed" : "goldschmidt";
}

DivisionForm division_form_from(std::string_view name) {
  for (DivisionForm form : {DivisionForm::kRelaxed, DivisionForm::kGoldschmidt})
    if (name_of(form) == name) return form;
  throw Error(message("unknown form of the division \"", name, "\"; use one of: relaxed, goldschmidt"));
}

PolynomialOptions paper_polynomials() {
  return {
      .margin = kMargin, .division = DivisionForm::kGoldschmidt, .inverse_sqrt = DivisionForm::kGoldschmidt};
}

Json options_to_json(const PolynomialOptions& options) {
  Json json;
  if (options.margin) json["margin"] = *options.margin;
  json["norm_error"] = options.norm_error;
  json["inverse_error"] = options.inverse_error;
  json["gelu_error"] = options.gelu_error;
  json["division"] = std::string(name_of(options.division));
  json["inverse_sqrt"] = std::string(name_of(options.inverse_sqrt));
  json["softmax"] = std::string(name_of(options.softmax));
  json["client_norm"] = options.client_norm;
  return json;
}

PolynomialOptions options_from_json(const Json& json) {
  const std::string what = "options of the polynomials";
  const auto text = [&](const char* key) { return json.at(key, what).string(what); };
  const Json* margin = json.find("margin");
  return {.margin = margin == nullptr ? std::nullopt : std::optional(margin->number(what)),
          .norm_error = json.at("norm_error", what).number(what),
          .inverse_error = json.at("inverse_error", what).number(what),
          .gelu_error = json.at("gelu_error", what).number(what),
          .division = division_form_from(text("division")),
          .inverse_sqrt = division_form_from(text("inverse_sqrt")),
          .softmax = softmax_form_from(text("softmax")),
          .client_norm = json.at("client_norm", what).truth(what)};
}

}  // namespace psm::attention
