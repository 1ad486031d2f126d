#include "ckks/engine/operands.h"

#include "ckks/base/error.h"

namespace psm::ckks {

Digits room_for_digits(const Context& context, const RnsPoly& c, int p_count) {
  PSM_CHECK(c.form() == Form::kNtt && c.basis().p == 0);
  const Level level = level_of(c.basis());
  Digits digits{.basis = {level + 1, p_count}, .count = context.digit_count(level)};
  const int limbs = digits.basis.limbs();
  digits.limbs.resize(static_cast<size_t>(limbs * digits.count));
  for (int d = 0; d < digits.count; ++d) {
    const DigitRange own = context.digit(d, level);
    const auto others = static_cast<size_t>(limbs - (own.end - own.begin));
    uint64_t* next = digits.extensions.emplace_back(others * c.n(), c.memory()).data();
    for (int j = 0; j < limbs; ++j) {
      const bool is_own = j >= own.begin && j < own.end;
      digits.limbs[j * digits.count + d] = is_own ? c.limb(j) : next;
      if (!is_own) next += c.n();
    }
  }
  return digits;
}

}  // namespace psm::ckks
