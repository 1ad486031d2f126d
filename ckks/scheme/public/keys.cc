#include "ckks/scheme/public/keys.h"

namespace psm::ckks {

size_t KeySwitchKey::bytes() const {
  size_t total = 0;
  for (const Digit& digit : digits) total += digit.a.bytes() + digit.b.bytes();
  return total;
}

KeySwitchKey KeySwitchKey::in(Memory* memory) const {
  KeySwitchKey copy{
      .seed = seed, .level = level, .p_count = p_count, .digits = {}, .fingerprint = fingerprint};
  for (const Digit& digit : digits) copy.digits.push_back({digit.b.in(memory), digit.a.in(memory)});
  return copy;
}

EvaluationKeys EvaluationKeys::in(Memory* memory) const {
  EvaluationKeys copy;
  copy.fingerprint = fingerprint;
  for (const auto& [band, key] : relinearisation) copy.relinearisation.emplace(band, key.in(memory));
  for (const auto& [use, key] : galois) copy.galois.emplace(use, key.in(memory));
  if (to_ephemeral) copy.to_ephemeral = to_ephemeral->in(memory);
  if (from_ephemeral) copy.from_ephemeral = from_ephemeral->in(memory);
  return copy;
}

namespace {

const KeySwitchKey* if_reaches(const KeySwitchKey& key, Level level) {
  return key.level >= level ? &key : nullptr;
}

}  // namespace

size_t EvaluationKeys::bytes() const {
  size_t total = 0;
  for (const auto& [band, key] : relinearisation) total += key.bytes();
  for (const auto& [use, key] : galois) total += key.bytes();
  for (const auto* key : {&to_ephemeral, &from_ephemeral}) {
    if (key->has_value()) total += (*key)->bytes();
  }
  return total;
}

const KeySwitchKey* EvaluationKeys::find_relinearisation(const Context& context, Level level) const {
  const auto found = relinearisation.find(context.band(level));
  return found == relinearisation.end() ? nullptr : if_reaches(found->second, level);
}

const KeySwitchKey* EvaluationKeys::find_galois(const Context& context, GaloisElement g, Level level) const {
  const auto found = galois.find({g, context.band(level)});
  return found == galois.end() ? nullptr : if_reaches(found->second, level);
}

}  // namespace psm::ckks
