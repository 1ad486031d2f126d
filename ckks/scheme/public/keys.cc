#include "ckks/scheme/public/keys.h"

#include <algorithm>

#include "ckks/base/parallel.h"
#include "ckks/ring/sampler.h"

namespace psm {

GaloisElement galois_element(const Context& context, int offset, bool conjugate) {
  const GaloisElement rotation = rotation_element(offset, context.log_n());
  const GaloisElement two_n = GaloisElement{2} << context.log_n();
  return conjugate ? two_n - rotation : rotation;
}

size_t KeySwitchKey::bytes() const {
  size_t total = 0;
  for (const Digit& digit : digits) total += digit.a.bytes() + digit.b.bytes();
  return total;
}

void KeyRequest::need_relinearisation(int level) { relinearisation_levels.insert(level); }

void KeyRequest::need_galois(GaloisElement g, int level) {
  if (g != 1) galois_levels[g].insert(level);
}

void KeyRequest::merge(const KeyRequest& other) {
  relinearisation_levels.insert(other.relinearisation_levels.begin(), other.relinearisation_levels.end());
  for (const auto& [g, levels] : other.galois_levels) galois_levels[g].insert(levels.begin(), levels.end());
  encapsulation = encapsulation || other.encapsulation;
}

namespace {

// The highest level of each band that is used.
std::vector<int> highest_of_bands(const Context& context, const std::set<int>& levels) {
  return psm::highest_of_bands(levels, [&](int level) { return context.band(level); });
}

const KeySwitchKey* if_reaches(const KeySwitchKey& key, int level) {
  return key.level >= level ? &key : nullptr;
}

}  // namespace

std::vector<int> KeyRequest::relinearisation_keys(const Context& context) const {
  return highest_of_bands(context, relinearisation_levels);
}

std::vector<std::pair<GaloisElement, int>> KeyRequest::galois_keys(const Context& context) const {
  std::vector<std::pair<GaloisElement, int>> keys;
  for (const auto& [g, levels] : galois_levels) {
    for (int level : highest_of_bands(context, levels)) keys.emplace_back(g, level);
  }
  return keys;
}

size_t KeyRequest::count(const Context& context) const {
  return relinearisation_keys(context).size() + galois_keys(context).size() + encapsulation;
}

size_t KeyRequest::bytes(const Context& context) const {
  size_t total = 0;
  for (int level : relinearisation_keys(context)) total += context.key_switch_key_bytes(level);
  for (const auto& [g, level] : galois_keys(context)) total += context.key_switch_key_bytes(level);
  if (encapsulation) {
    total +=
        context.key_switch_key_bytes(context.max_level()) + 2 * packed_bytes(context.ring(), Basis{1, 1});
  }
  return total;
}

size_t EvaluationKeys::bytes() const {
  size_t total = 0;
  for (const auto& [band, key] : relinearisation) total += key.bytes();
  for (const auto& [use, key] : galois) total += key.bytes();
  for (const auto* key : {&to_ephemeral, &from_ephemeral}) {
    if (key->has_value()) total += (*key)->bytes();
  }
  return total;
}

const KeySwitchKey* EvaluationKeys::find_relinearisation(const Context& context, int level) const {
  const auto found = relinearisation.find(context.band(level));
  return found == relinearisation.end() ? nullptr : if_reaches(found->second, level);
}

const KeySwitchKey* EvaluationKeys::find_galois(const Context& context, GaloisElement g, int level) const {
  const auto found = galois.find({g, context.band(level)});
  return found == galois.end() ? nullptr : if_reaches(found->second, level);
}

namespace {

void expand_limb(const Seed& seed, int digit, const Ring& ring, int prime, uint64_t* residues) {
  ChaChaStream stream(seed, static_cast<uint64_t>(digit) << 32 | static_cast<uint64_t>(prime));
  sample_uniform(residues, ring.n(), ring.modulus(prime), stream);
}

}  // namespace

void expand_seed(const Seed& seed, int digit, RnsPoly& a) {
  parallel_for(0, a.limbs(), [&](size_t index) {
    const int j = static_cast<int>(index);
    expand_limb(seed, digit, a.ring(), a.prime_index(j), a.limb(j));
  });
  a.set_form(Form::kNtt);
}

PackedPoly expand_seed_packed(const Seed& seed, int digit, const Ring& ring, Basis basis) {
  return {ring, basis, [&](int j, uint64_t* residues) {
            expand_limb(seed, digit, ring, ring.prime_index(basis, j), residues);
          }};
}

}  // namespace psm
