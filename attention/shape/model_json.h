// What a checkpoint keeps of a model as JSON. An interval is an array of its two ends, an enumeration its name
// (config.h). Doubles come back bit by bit. Reading throws psm::Error on members that are missing, malformed, or not of
// this model.
#pragma once

#include <string>

#include "attention/shape/config.h"
#include "attention/shape/polynomial_options.h"
#include "attention/shape/ranges.h"
#include "ckks/base/files/json.h"

namespace psm::attention {

std::string config_to_json(const ModelConfig& config);
// Errors begin with `what`.
ModelConfig config_from_json(const std::string& text, const std::string& what);

Json ranges_to_json(const Ranges&);
Ranges ranges_from_json(const Json&, const ModelConfig&);

Json options_to_json(const PolynomialOptions&);
PolynomialOptions options_from_json(const Json&);

}  // namespace psm::attention
