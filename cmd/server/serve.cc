// The server of a text that is generated encrypted: computes on ciphertexts with public keys only. It links no secret
// key, and nothing of models: they are compiled.
#include <unistd.h>

#include <memory>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/generation/frames.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/generation/server/text_server.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/device.h"
#include "cmd/server/memory_flag.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {
namespace {

void serve(int argc, char** argv, FrameChannel& client) {
  Command flags(
      "serve --program PROGRAM --keys FILE [flags]",
      "The server's side of //cmd:generate, which starts it: reads a program (//cmd:compile --for text) and "
      "evaluation.keys, then encrypted prompts and tokens from standard input, and writes encrypted answers "
      "to standard output (cmd/generation/frames.h). It holds no secret key. With --weights, those of the "
      "model are ciphertexts too. Keys and values of the text so far stay with it, encrypted; with --state "
      "they also stay in a folder after every token, and a server that was killed goes on from there.",
      Command::Writes::kNothing);
  const std::string& program_path =
      flags.text("program", "", "the program (NAME.program of //cmd:compile --for text)");
  const std::string& keys_path =
      flags.text("keys", "", "evaluation keys (evaluation.keys of //cmd:generate)");
  const std::string& weights_path = flags.text(
      "weights", "", "encrypted weights (weights.ct of //cmd:generate), where the program has none");
  const std::string& state =
      flags.text("state", "", "folder to keep the text in, encrypted, after every token");
  const FileRingFlags ring(flags);
  const DeviceFlag device_flag(flags);
  const MemoryFlag memory_flag(flags);
  flags.begin(argc, argv, {"program", "keys"});
  if (!is_pipe(STDIN_FILENO))
    throw Error(
        "this server talks to a client through pipes; run //cmd:generate, which starts one, or has --server");
  const std::unique_ptr<ckks::Device> device = device_flag.open();

  TextProgram program(program::load_program(resolve_user_path(program_path)));
  for (program::MeterReading* reading : {&program.prompt_reading, &program.token_reading})
    reading->encoded_limit = memory_flag.left_for_plaintexts(program.least_bytes(), reading->encoded_limit,
                                                             device ? 0 : available_memory_bytes());
  const ckks::Context& context = *program.context;
  if (!ring.insecure) ring.require_security(context);  // its warning is the client's to give
  std::optional<EncryptedWeights> weights;
  if (!weights_path.empty()) weights.emplace(resolve_user_path(weights_path), program);
  if (!weights && !program.weights.empty())
    throw Error("this program has no weights; give --weights, which //cmd:generate encrypts");
  const size_t bytes = program.server_bytes(device != nullptr);
  // A device's keys, caches and weights are in the host's memory too.
  require_memory(device ? program.keys.bytes(context.chain()) + program.cache_bytes() + program.weight_bytes()
                        : bytes);
  DeviceFlag::require_room(device.get(), bytes);
  TextServer(program, resolve_user_path(keys_path), resolve_user_path(state),
             engine_on(device.get(), context), weights ? &*weights : nullptr)
      .serve(client);
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  using namespace psm;
  return run_command([&] {
    cmd::FrameChannel client(STDIN_FILENO, STDOUT_FILENO, "the client");
    try {
      cmd::serve(argc, argv, client);
    } catch (const Error& error) {
      if (!cmd::is_pipe(STDIN_FILENO)) throw;
      // The client says it, once; where it is gone, this process does.
      client.send(cmd::FrameKind::kRefused, error.what());
      return error.exit_code();
    }
    return 0;
  });
}
