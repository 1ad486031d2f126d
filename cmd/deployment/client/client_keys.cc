#include "cmd/deployment/client/client_keys.h"

#include "ckks/base/progress.h"
#include "ckks/base/touched_memory.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {

ClientKeys make_client_keys(const Deployment& deployment, RunFigures& figures) {
  const double begin = seconds_now();
  TouchedMemory memory(static_cast<size_t>(deployment.reading.run_bytes()));
  ClientKeys keys;
  keys.secret = std::make_unique<const ckks::SecretKey>(ckks::SecretKey::generate(*deployment.context));
  ckks::KeyGenerator generator(*keys.secret);
  keys.public_key = generator.public_key();
  Progress progress("generating keys", 1);
  keys.evaluation = generator.evaluation_keys(deployment.keys,
                                              [&](int done, int total) { progress.set(1.0 * done / total); });
  keys.seconds = seconds_now() - begin;
  figures.touched(memory.finish());
  return keys;
}

}  // namespace psm::cmd
