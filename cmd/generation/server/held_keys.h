// The evaluation keys that a server of texts has in memory: those of the run at hand, from a file that has all. Keys
// are the largest part of its memory, a pass over a prompt and a token share a third of them, and it never runs both
// at once.
#pragma once

#include "ckks/scheme/chain/key_request.h"
#include "ckks/scheme/public/keys.h"
#include "ckks/wire/key_file.h"

namespace psm::cmd {

class HeldKeys {
 public:
  // Holds none. The file outlives the object.
  HeldKeys(wire::EvaluationKeysReader& file, const ckks::Context& context);

  // From now on these and no others: lets go of what is not asked for, then reads what is missing. Throws Error
  // where the file lacks one.
  void hold(const ckks::KeyRequest& request);
  // Throws Error where the file lacks one, without reading any.
  void require(const ckks::KeyRequest& request) const { file_.require(request); }

  const ckks::EvaluationKeys& keys() const { return keys_; }  // stays where it is

 private:
  wire::EvaluationKeysReader& file_;
  const ckks::Context& context_;
  ckks::EvaluationKeys keys_;
};

}  // namespace psm::cmd
