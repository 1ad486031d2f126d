#include "ckks/scheme/chain/key_request.h"

namespace psm::ckks {
namespace {

// Returns the highest level of each band; `levels` are in ascending order.
std::vector<Level> highest_of_bands(const Chain& chain, const std::set<Level>& levels) {
  std::vector<Level> highest;
  for (Level level : levels) {
    if (!highest.empty() && chain.band(highest.back()) == chain.band(level)) highest.pop_back();
    highest.push_back(level);
  }
  return highest;
}

}  // namespace

std::vector<Level> KeyRequest::relinearisation_keys(const Chain& chain) const {
  return highest_of_bands(chain, relinearisation_levels);
}

std::vector<std::pair<GaloisElement, Level>> KeyRequest::galois_keys(const Chain& chain) const {
  std::vector<std::pair<GaloisElement, Level>> keys;
  for (const auto& [g, levels] : galois_levels) {
    for (Level level : highest_of_bands(chain, levels)) keys.emplace_back(g, level);
  }
  return keys;
}

size_t KeyRequest::count(const Chain& chain) const {
  return relinearisation_keys(chain).size() + galois_keys(chain).size() + encapsulation;
}

size_t KeyRequest::bytes(const Chain& chain) const {
  size_t total = encapsulation ? chain.encapsulation_bytes() : 0;
  for (Level level : relinearisation_keys(chain)) total += chain.key_bytes(level);
  for (const auto& [g, level] : galois_keys(chain)) total += chain.key_bytes(level);
  return total;
}

}  // namespace psm::ckks
