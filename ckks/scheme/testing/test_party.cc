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

Slots TestParty::random_slots(uint64_t seed, size_t count) const {
  TrainingRandom random(seed);
  Slots values(count == 0 ? static_cast<size_t>(context.slots()) : count);
  for (auto& value : values) {
    const double re = random.uniform(-1, 1);
    value = {re, random.uniform(-1, 1)};
  }
  return values;
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

bool same_bits(const RnsPoly& a, const RnsPoly& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  if (!(a.basis() == b.basis()) || a.form() != b.form()) return false;
  const RnsPoly x = a.in(nullptr), y = b.in(nullptr);
  return std::equal(x.limb(0), x.limb(0) + x.bytes() / sizeof(uint64_t), y.limb(0));
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
