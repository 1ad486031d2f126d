#include "ckks/scheme/keys.h"

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

void KeyRequest::need_relinearisation(int level) {
  relinearisation_level = std::max(relinearisation_level, level);
}

void KeyRequest::need_galois(GaloisElement g, int level) {
  if (g == 1) return;
  const auto [entry, inserted] = galois_levels.try_emplace(g, level);
  if (!inserted) entry->second = std::max(entry->second, level);
}

void KeyRequest::merge(const KeyRequest& other) {
  need_relinearisation(other.relinearisation_level);
  for (const auto& [g, level] : other.galois_levels) need_galois(g, level);
  encapsulation = encapsulation || other.encapsulation;
}

size_t KeyRequest::bytes(const Context& context) const {
  size_t total = 0;
  if (relinearisation_level >= 0) total += context.key_switch_key_bytes(relinearisation_level);
  for (const auto& entry : galois_levels) total += context.key_switch_key_bytes(entry.second);
  if (encapsulation) {
    const size_t limb = static_cast<size_t>(context.n()) * sizeof(uint64_t);
    total += context.key_switch_key_bytes(context.max_level()) + 4 * limb;
  }
  return total;
}

size_t EvaluationKeys::bytes() const {
  size_t total = 0;
  for (const auto* key : {&relinearisation, &to_ephemeral, &from_ephemeral}) {
    if (key->has_value()) total += (*key)->bytes();
  }
  for (const auto& entry : galois) total += entry.second.bytes();
  return total;
}

void expand_seed(const Seed& seed, int digit, RnsPoly& a) {
  parallel_for(0, a.limbs(), [&](size_t index) {
    const int j = static_cast<int>(index);
    const int prime = a.prime_index(j);
    ChaChaStream stream(seed, static_cast<uint64_t>(digit) << 32 | static_cast<uint64_t>(prime));
    sample_uniform(a.limb(j), a.n(), a.ring().modulus(prime), stream);
  });
  a.set_form(Form::kNtt);
}

}  // namespace psm
