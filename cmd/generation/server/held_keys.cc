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
  std::set<int> bands;
  std::set<std::pair<ckks::GaloisElement, int>> elements;
  ckks::KeyRequest missing;
  for (const ckks::Level level : request.relinearisation_keys(context_.chain())) {
    bands.insert(context_.band(level));
    if (!keys_.relinearisation.contains(context_.band(level))) missing.need_relinearisation(level);
  }
  for (const auto& [element, level] : request.galois_keys(context_.chain())) {
    const std::pair key{element, context_.band(level)};
    elements.insert(key);
    if (!keys_.galois.contains(key)) missing.need_galois(element, level);
  }
  missing.encapsulation = request.encapsulation && !keys_.to_ephemeral;
  std::erase_if(keys_.relinearisation, [&](const auto& key) { return !bands.contains(key.first); });
  std::erase_if(keys_.galois, [&](const auto& key) { return !elements.contains(key.first); });
  if (!request.encapsulation) {
    keys_.to_ephemeral.reset();
    keys_.from_ephemeral.reset();
  }
  if (missing.count(context_.chain()) == 0) return;
  ckks::EvaluationKeys read = read_keys(file_, missing);
  keys_.relinearisation.merge(read.relinearisation);
  keys_.galois.merge(read.galois);
  if (missing.encapsulation) {
    keys_.to_ephemeral = std::move(read.to_ephemeral);
    keys_.from_ephemeral = std::move(read.from_ephemeral);
  }
}

}  // namespace psm::cmd
