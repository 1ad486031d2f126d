#include "ckks/scheme/testing/test_party.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"

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
  EvaluationKeys more = generator.evaluation_keys(request);
  for (auto& [g, key] : more.galois) keys.galois.insert_or_assign(g, std::move(key));
  for (auto& [band, key] : more.relinearisation) keys.relinearisation.insert_or_assign(band, std::move(key));
  if (more.to_ephemeral) keys.to_ephemeral = std::move(more.to_ephemeral);
  if (more.from_ephemeral) keys.from_ephemeral = std::move(more.from_ephemeral);
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

double max_error(const Slots& a, const Slots& b) {
  PSM_CHECK(a.size() == b.size(), a.size(), " and ", b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

double rms_error(const Slots& a, const Slots& b) {
  PSM_CHECK(a.size() == b.size(), a.size(), " and ", b.size());
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += std::norm(a[i] - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace psm::ckks
