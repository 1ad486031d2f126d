// What the servers of texts have in common as processes: their flags, and a client at the other end of standard
// input and output.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ckks/base/files/flags.h"
#include "cmd/generation/generation_plans.h"
#include "cmd/generation/kept_text.h"
#include "cmd/generation/text_server.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/device_flag.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {

class ServerFlags {
 public:
  explicit ServerFlags(Flags& flags);
  // After parse(). Throws Error where a flag is wrong, or standard input is no pipe.
  void apply();
  // Of the evaluation keys.
  std::shared_ptr<const ckks::Context> context() const;
  // Until the client closes its pipe. `weights` reads encrypted ones, which must be under the key pair given.
  void serve(const GenerationPlans& plans, FrameChannel& client,
             const std::function<Ciphertexts(ckks::Fingerprint keys)>& weights = {}) const;

 private:
  const std::string &keys_, &state_;
  FileRingFlags ring_;
  DeviceFlag device_flag_;
  ThreadsFlag threads_;
  std::unique_ptr<ckks::Device> device_;
};

// The exit code of a server's main function. An Error goes to the client, which says it, or where there is none
// to this process' own user.
int run_server(const std::function<void(FrameChannel& client)>& command);

}  // namespace psm::cmd
