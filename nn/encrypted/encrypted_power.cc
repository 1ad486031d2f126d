#include "nn/encrypted/encrypted_power.h"

#include "ckks/base/error.h"

namespace psm::nn {

using program::Builder;
using program::Value;

Value power_of(Builder& builder, Value x, int p) {
  PSM_CHECK(p >= 1, "power ", p);
  if (p == 1) return x;
  if (p % 2 == 0) return builder.square(power_of(builder, x, p / 2));
  return builder.multiply(power_of(builder, x, p / 2 + 1), power_of(builder, x, p / 2));
}

}  // namespace psm::nn
