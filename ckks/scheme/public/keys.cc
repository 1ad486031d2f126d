#include "ckks/scheme/public/keys.h"

#include "ckks/base/error.h"

namespace psm::ckks {

std::string text(const KeyName& name) {
  switch (name.role) {
    case KeyRole::kRelinearisation:
      return message("the key for products at level ", name.level);
    case KeyRole::kGalois:
      return message("the key of the Galois element ", name.element, " at level ", name.level);
    case KeyRole::kToEphemeral:
      return "the key before ModRaise";
    case KeyRole::kFromEphemeral:
      return message("the key behind ModRaise of the Galois element ", name.element, " at level ",
                     name.level);
  }
  return {};
}

}  // namespace psm::ckks
