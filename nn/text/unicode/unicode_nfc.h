// Unicode's normalisation form C (UAX #15): canonical decomposition, canonical order, canonical composition.
//
// With the characters of Unicode 9.0, as the `tokenizers` library (0.23) has them; later characters stay as
// they are.
#pragma once

#include <string>
#include <string_view>

namespace psm::nn {

// `text` must be valid UTF-8. Equal texts for all that Unicode calls canonically equivalent.
std::string to_nfc(std::string_view text);

}  // namespace psm::nn
