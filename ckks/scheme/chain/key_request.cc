#include "ckks/scheme/chain/key_request.h"

#include "ckks/base/error.h"

namespace psm::ckks {

KeyName key_name(const Chain& chain, KeyRole role, GaloisElement element, Level level) {
  return {role, element, level, role == KeyRole::kToEphemeral ? 1 : chain.special_primes(level),
          role == KeyRole::kFromEphemeral ? 1 : chain.digits(level)};
}

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

DigitRange key_digit(const Chain& chain, const KeyName& name, int i) {
  return name.role == KeyRole::kFromEphemeral ? DigitRange{0, name.level + 1} : chain.digit(i, name.level);
}

std::vector<KeyName> KeyRequest::keys(const Chain& chain) const {
  std::vector<KeyName> names;
  // The highest level of each band; sets are in ascending order.
  const auto append = [&](KeyRole role, GaloisElement element, const std::set<Level>& levels) {
    int last_band = -1;
    for (const Level level : levels) {
      if (chain.band(level) == last_band) names.pop_back();
      last_band = chain.band(level);
      names.push_back(key_name(chain, role, element, level));
    }
  };
  append(KeyRole::kRelinearisation, 0, relinearisation_levels);
  for (const auto& [g, levels] : galois_levels) append(KeyRole::kGalois, g, levels);
  if (!raised_levels.empty()) append(KeyRole::kToEphemeral, 0, {0});
  for (const auto& [g, levels] : raised_levels) append(KeyRole::kFromEphemeral, g, levels);
  return names;
}

size_t KeyRequest::bytes(const Chain& chain) const {
  size_t total = 0;
  for (const KeyName& key : keys(chain)) total += chain.key_bytes(key.level, key.p_count, key.digits);
  return total;
}

}  // namespace psm::ckks
