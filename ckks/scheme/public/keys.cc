#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

size_t KeySwitchKey::bytes() const {
  size_t total = 0;
  for (const Digit& digit : digits) total += digit.a.bytes() + digit.b.bytes();
  return total;
}

KeySwitchKey KeySwitchKey::in(Memory* memory) const {
  KeySwitchKey copy{.seed = seed, .level = level, .p_count = p_count, .fingerprint = fingerprint};
  for (const Digit& digit : digits) copy.digits.push_back({digit.b.in(memory), digit.a.in(memory)});
  return copy;
}

EvaluationKeys EvaluationKeys::in(Memory* memory) const {
  EvaluationKeys copy;
  copy.fingerprint = fingerprint;
  for (const auto& [use, key] : keys) copy.keys.emplace(use, key.in(memory));
  return copy;
}

size_t EvaluationKeys::bytes() const {
  size_t total = 0;
  for (const auto& [use, key] : keys) total += key.bytes();
  return total;
}

const KeySwitchKey* EvaluationKeys::find(const Context& context, KeyRole role, GaloisElement element,
                                         Level level) const {
  const auto found = keys.find({role, element, context.band(level)});
  return found == keys.end() || found->second.level < level ? nullptr : &found->second;
}

}  // namespace psm::ckks
