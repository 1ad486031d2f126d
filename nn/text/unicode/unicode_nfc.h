// Unicode's normalisation forms (UAX #15): D is canonical decomposition and canonical order; C is D and then canonical
// composition.
//
// It knows the characters of Unicode 9.0, as the `tokenizers` library (0.23) does. Later characters stay as they are.
#pragma once

#include <string>
#include <string_view>

namespace psm::nn {

// `text` must be valid UTF-8. Canonically equivalent texts have equal results.
std::string to_nfc(std::string_view text);
std::string to_nfd(std::string_view text);

}  // namespace psm::nn
