// The evaluation keys that a server of texts has in memory: those of the current run, from a file with all. Keys are
// the largest part of its memory. A pass over a prompt and a token share only a third of them, and never run at once.
#pragma once

#include "ckks/scheme/chain/key_request.h"
#include "ckks/scheme/public/keys.h"
#include "ckks/wire/key_file.h"

namespace psm::cmd {

class HeldKeys {
 public:
  // Holds no keys at first. The file must outlive the object.
  HeldKeys(wire::EvaluationKeysReader& file, const ckks::Context& context);

  // Holds exactly these keys from now on: frees the others, then reads the missing ones. Throws Error if the
  // file lacks one.
  void hold(const ckks::KeyRequest& request);
  // Throws Error if the file lacks one, without reading any.
  void require(const ckks::KeyRequest& request) const { file_.require(request); }

  const ckks::EvaluationKeys& keys() const { return keys_; }  // stays where it is

 private:
  wire::EvaluationKeysReader& file_;
  const ckks::Context& context_;
  ckks::EvaluationKeys keys_;
};

}  // namespace psm::cmd
