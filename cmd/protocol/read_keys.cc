#include "cmd/protocol/read_keys.h"

#include "ckks/base/interruption.h"
#include "ckks/base/progress.h"

namespace psm::cmd {

ckks::EvaluationKeys read_keys(wire::EvaluationKeysReader& reader, const ckks::KeyRequest& request) {
  Progress progress("reading keys", 1);
  return reader.load(request, [&](uint64_t done, uint64_t total) {
    progress.set(static_cast<double>(done) / static_cast<double>(total));
    stop_if_interrupted("keys were being read, and nothing was begun");
  });
}

}  // namespace psm::cmd
