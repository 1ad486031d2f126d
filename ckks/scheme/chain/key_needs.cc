#include "ckks/scheme/chain/key_request.h"

namespace psm::ckks {

GaloisElement galois_element(const Chain& chain, int offset, bool conjugate) {
  const GaloisElement rotation = rotation_element(offset, chain.log_n);
  const GaloisElement two_n = GaloisElement{2} << chain.log_n;
  return conjugate ? two_n - rotation : rotation;
}

void KeyRequest::need_galois(GaloisElement g, Level level) {
  if (g != 1) galois_levels[g].insert(level);
}

void KeyRequest::need(const KeyName& name) {
  if (name.role == KeyRole::kRelinearisation) return need_relinearisation(name.level);
  if (name.role == KeyRole::kGalois) return need_galois(name.element, name.level);
  if (name.role == KeyRole::kFromEphemeral) need_raised(name.element, name.level);
}

void KeyRequest::merge(const KeyRequest& other) {
  relinearisation_levels.insert(other.relinearisation_levels.begin(), other.relinearisation_levels.end());
  for (const auto& [g, levels] : other.galois_levels) galois_levels[g].insert(levels.begin(), levels.end());
  for (const auto& [g, levels] : other.raised_levels) raised_levels[g].insert(levels.begin(), levels.end());
}

}  // namespace psm::ckks
