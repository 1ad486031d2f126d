#include "ckks/scheme/testing/test_party.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/testing/worse.h"

namespace psm::ckks {

TestParty::TestParty(const ParameterSpec& spec, const KeyRequest& request)
    : context(spec),
      encoder(context),
      secret(SecretKey::generate(context)),
      generator(secret),
      public_key(generator.public_key()),
      encryptor(context, public_key),
      decryptor(secret),
      keys(generator.evaluation_keys(request)),
      evaluator(std::make_unique<Evaluator>(context, keys)) {}

void TestParty::add_keys(const KeyRequest& request) {
  for (auto& [use, key] : generator.evaluation_keys(request).keys)
    keys.keys.insert_or_assign(use, std::move(key));
}

void TestParty::add_rotations(const std::vector<int>& offsets, Level level) {
  KeyRequest request;
  for (int offset : offsets) request.need_galois(galois_element(context, offset), level);
  add_keys(request);
}

Ciphertext TestParty::encrypt(const Slots& values, Level level) {
  return encryptor.encrypt(encoder.encode(values, level));
}

std::vector<ParameterSpec> small_sets() {
  ParameterSpec tight = insecure_leveled(10, 5);
  tight.p_count = 1;
  ParameterSpec small = insecure_leveled(10, 6);
  small.log_scale = small.compute_bits = 24;
  small.q0_bits = small.p_bits = 32;
  small.p_count = 2;
  return {insecure_leveled(11, 6), tight, small, insecure_bootstrappable(10)};
}

std::set<Level> levels_of_bands(const Context& context) {
  std::set<Level> levels;
  Level lowest = 0;
  for (const Gadget& band : context.chain().bands) {
    levels.insert({lowest, Level::at((lowest + band.top) / 2), band.top});
    lowest = band.top + 1;
  }
  return levels;
}

Slots rotated(const Slots& slots, int offset) {
  const int n = static_cast<int>(slots.size());
  Slots out = slots;
  std::rotate(out.begin(), out.begin() + (offset % n + n) % n, out.end());
  return out;
}

RnsPoly random_poly(const Ring& ring, Basis basis, uint64_t seed) {
  TrainingRandom random(seed);
  RnsPoly c(ring, basis, Form::kNtt);
  for (int j = 0; j < c.limbs(); ++j)
    for (size_t k = 0; k < c.n(); ++k) c.limb(j)[k] = random.integer(c.modulus(j).value);
  return c;
}

bool same_bits(std::span<const RnsPoly> a, std::span<const RnsPoly> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RnsPoly& x, const RnsPoly& y) { return same_bits(x, y); });
}

bool same_bits(const Ciphertext& a, const Ciphertext& b) {
  return a.scale() == b.scale() && same_bits(a.c, b.c);
}

double max_error(const Slots& a, const Slots& b) {
  PSM_CHECK(a.size() == b.size(), a.size(), " and ", b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = worse(worst, std::abs(a[i] - b[i]));
  return worst;
}

double rms_error(const Slots& a, const Slots& b) {
  PSM_CHECK(a.size() == b.size(), a.size(), " and ", b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::norm(a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace psm::ckks
