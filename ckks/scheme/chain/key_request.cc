#include "ckks/scheme/chain/key_request.h"

namespace psm::ckks {

std::vector<KeyName> KeyRequest::keys(const Chain& chain) const {
  std::vector<KeyName> names;
  // The highest level of each band; sets are in ascending order.
  const auto append = [&](KeyRole role, GaloisElement element, const std::set<Level>& levels) {
    int last_band = -1;
    for (const Level level : levels) {
      if (chain.band(level) == last_band) names.pop_back();
      last_band = chain.band(level);
      names.push_back({role, element, level, chain.special_primes(level)});
    }
  };
  append(KeyRole::kRelinearisation, 0, relinearisation_levels);
  for (const auto& [g, levels] : galois_levels) append(KeyRole::kGalois, g, levels);
  if (encapsulation) {
    names.push_back({KeyRole::kToEphemeral, 0, 0, 1});
    append(KeyRole::kFromEphemeral, 0, {chain.max_level});
  }
  return names;
}

size_t KeyRequest::count(const Chain& chain) const { return keys(chain).size() - encapsulation; }

size_t KeyRequest::bytes(const Chain& chain) const {
  size_t total = 0;
  for (const KeyName& key : keys(chain)) total += chain.key_bytes(key.level, key.p_count);
  return total;
}

}  // namespace psm::ckks
