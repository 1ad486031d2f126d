#include "cmd/generation/pipe_server.h"

#include <sys/stat.h>
#include <unistd.h>

#include "ckks/base/error.h"
#include "ckks/wire/key_file.h"

namespace psm::cmd {
namespace {

bool is_pipe(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

}  // namespace

ServerFlags::ServerFlags(Flags& flags)
    : keys_(flags.text("keys", "", "evaluation keys (evaluation.keys of //cmd:generate)")),
      state_(flags.text("state", "", "folder to keep the text in, encrypted, after every token")),
      ring_(flags),
      device_flag_(flags),
      threads_(flags) {}

void ServerFlags::apply() {
  threads_.apply();
  ring_.apply();
  if (!is_pipe(STDIN_FILENO))
    throw Error(
        "this server talks to a client through pipes; run //cmd:generate, which starts one, or has --server");
  device_ = device_flag_.open();
}

std::shared_ptr<const ckks::Context> ServerFlags::context() const {
  auto context = wire::read_context(resolve_user_path(keys_), wire::FileKind::kEvaluationKeys);
  if (!ring_.insecure) ring_.require_security(*context);  // its warning is the client's to give
  return context;
}

void ServerFlags::serve(const GenerationPlans& plans, FrameChannel& client,
                        const std::function<Ciphertexts(ckks::Fingerprint keys)>& weights) const {
  wire::EvaluationKeysReader reader(resolve_user_path(keys_), *plans.context);
  KeptText kept(state_.empty() ? "" : resolve_user_path(state_), plans, reader.fingerprint());
  const size_t bytes = plans.server_bytes(device_ != nullptr);
  require_memory(bytes);
  DeviceFlag::require_room(device_.get(), bytes);
  Ciphertexts encrypted;
  if (weights) encrypted = weights(reader.fingerprint());
  HeldKeys keys(reader, *plans.context);
  TextServer(plans, keys, kept, device_.get(), &encrypted).serve(client);
}

int run_server(const std::function<void(FrameChannel& client)>& command) {
  return run_command([&] {
    FrameChannel client(STDIN_FILENO, STDOUT_FILENO, "the client");
    try {
      command(client);
    } catch (const Error& error) {
      if (!is_pipe(STDIN_FILENO)) throw;
      // The client says it, once; where it is gone, this process does.
      client.send(FrameKind::kRefused, error.what());
      return error.exit_code();
    }
    return 0;
  });
}

}  // namespace psm::cmd
