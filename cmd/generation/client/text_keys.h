// The key pair of texts: the one of a folder, or a new one there.
#pragma once

#include <memory>
#include <string>

#include "ckks/scheme/client/secret_key.h"
#include "cmd/generation/generation_plans.h"
#include "cmd/protocol/key_files.h"
#include "cmd/protocol/ring_flags.h"

namespace psm::cmd {

struct TextKeys {
  // New keys have the parameters of the flags. Throws Error for others than the flags allow.
  TextKeys(const std::string& folder, const RingFlags& ring);

  // Makes them if they are new, and says so. Returns the seconds that it took.
  double make(const ckks::KeyRequest& request) const;
  ckks::SecretKey secret() const;  // of keys that were made

  KeyFiles files;
  bool are_new;  // are still to be made when the object is
  std::shared_ptr<const ckks::Context> context;
};

}  // namespace psm::cmd
