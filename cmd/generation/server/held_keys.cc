#include "cmd/generation/server/held_keys.h"

#include <set>
#include <utility>

#include "cmd/protocol/key_files.h"
#include "cmd/protocol/read_keys.h"

namespace psm::cmd {

HeldKeys::HeldKeys(wire::EvaluationKeysReader& file, const ckks::Context& context)
    : file_(file), context_(context) {
  keys_.fingerprint = file.fingerprint();
}

void HeldKeys::hold(const ckks::KeyRequest& request) {
  std::set<ckks::EvaluationKeys::Use> wanted;
  ckks::KeyRequest missing;
  for (const ckks::KeyName& name : request.keys(context_.chain())) {
    const auto use = ckks::use_of(context_, name);
    wanted.insert(use);
    if (!keys_.keys.contains(use)) missing.need(name);
  }
  std::erase_if(keys_.keys, [&](const auto& key) { return !wanted.contains(key.first); });
  if (missing.count(context_.chain()) > 0) keys_.keys.merge(read_keys(file_, missing).keys);
}

}  // namespace psm::cmd
