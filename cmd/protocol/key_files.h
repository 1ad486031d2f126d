// The names of a key pair's files in its folder.
#pragma once

#include <cstdint>
#include <string>

#include "ckks/base/files/hex.h"

namespace psm::cmd {

struct KeyFiles {
  explicit KeyFiles(const std::string& folder)
      : secret(folder + "/secret.key"),
        public_key(folder + "/public.key"),
        evaluation(folder + "/evaluation.keys"),
        weights(folder + "/weights.ct"),
        weights_owner(folder + "/weights.owner"),
        folder_(folder) {}
  std::string secret, public_key, evaluation;
  std::string weights, weights_owner;  // a model's, encrypted (weight_encryption.h)
  // The client's record of the prompts of one request (prompt_record.h).
  std::string prompts(uint64_t request) const { return folder_ + "/prompts-" + hex(request) + ".record"; }

 private:
  std::string folder_;
};

}  // namespace psm::cmd
