// The server of a text that is generated encrypted: computes on ciphertexts with public keys only. It links
// no secret key.
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/flags.h"
#include "ckks/wire/key_file.h"
#include "cmd/deployment/key_files.h"
#include "cmd/generation/text_server.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/device_flag.h"

namespace psm::cmd {
namespace {

bool is_pipe(int descriptor) {
  struct stat status;
  return ::fstat(descriptor, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode));
}

void serve(const std::string& model_path, const std::string& keys_path, const std::string& state,
           const RingFlags& ring, const DeviceFlag& device_flag, FrameChannel& client) {
  const std::unique_ptr<ckks::Device> device = device_flag.open();
  const std::string key_file = resolve_user_path(keys_path);
  auto parameters = wire::read_context(key_file, wire::FileKind::kEvaluationKeys);
  if (!ring.insecure) ring.require_security(*parameters);  // its warning is the client's to give
  const GenerationDeployment deployment(attention::load_checkpoint(resolve_user_path(model_path)),
                                        std::move(parameters));
  wire::EvaluationKeysReader reader(key_file, *deployment.context);
  KeptText kept(state.empty() ? "" : resolve_user_path(state), deployment, reader.fingerprint());
  require_memory(deployment.server_bytes());
  DeviceFlag::require_room(device.get(), deployment.server_bytes());
  const ckks::EvaluationKeys keys = read_keys(reader, deployment.keys);
  TextServer(deployment, keys, kept, device.get()).serve(client);
}

void serve_command(int argc, char** argv, FrameChannel& client) {
  Flags flags(
      "serve --model MODEL --keys FILE [flags]",
      "The server's side of //cmd:generate, which starts it: reads a polynomial model and evaluation.keys, "
      "then\n"
      "encrypted prompts and tokens from standard input, and writes encrypted answers to standard output\n"
      "(cmd/generation/frames.h). It holds no secret key. Keys and values of the text so far stay with it,\n"
      "encrypted; with --state they also stay in a folder after every token, and a server that was killed "
      "goes\n"
      "on from there.");
  const std::string& model = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const std::string& keys = flags.text("keys", "", "evaluation keys (evaluation.keys of //cmd:generate)");
  const std::string& state =
      flags.text("state", "", "folder to keep the text in, encrypted, after every token");
  const RingFlags ring(flags);
  const DeviceFlag device(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  require_given(flags, {"model", "keys"});
  if (!is_pipe(STDIN_FILENO))
    throw Error(
        "this server talks to a client through pipes; run //cmd:generate, which starts one, or has --server");
  serve(model, keys, state, ring, device, client);
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  using namespace psm;
  return run_command([&] {
    cmd::FrameChannel client(STDIN_FILENO, STDOUT_FILENO, "the client");
    try {
      cmd::serve_command(argc, argv, client);
    } catch (const Error& error) {
      if (!cmd::is_pipe(STDIN_FILENO)) throw;
      // The client says it, once; where it is gone, this process does.
      client.send(cmd::FrameKind::kRefused, error.what());
      return error.exit_code();
    }
    return 0;
  });
}
