// The client makes its keys: the secret key, the public key, and the evaluation keys that the server needs to
// run one program, and no others.
#include "ckks/base/files/file.h"
#include "ckks/base/files/hex.h"
#include "cmd/client/client_head.h"
#include "cmd/client/new_keys.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

int keygen(int argc, char** argv) {
  Command flags("bazel run //cmd:keygen -- --client FILE --out FOLDER [flags]",
                "Makes the keys for running a compiled model encrypted: secret.key and public.key for the "
                "client, evaluation.keys for the server. The secret key never leaves the client; who has "
                "public.key alone can encrypt. The keys are tested before they are kept.");
  const std::string& client_path =
      flags.text("client", "", "the client's file (NAME.client of //cmd:compile)");
  const std::string& out =
      flags.output("out", "folder for the keys; made if it is missing", Flags::Output::kFolder);
  const FileRingFlags ring(flags);
  flags.begin(argc, argv, {"client", "out"});

  const KeyFiles files(resolve_user_path(out));
  const ClientHead client = read_client_head(resolve_user_path(client_path));
  const ckks::Context& context = *client.context;
  ring.require_security(context);
  print(context.describe(), "\nprogram ", hex(client.program.data(), client.program.size()), " asks for ",
        client.keys.count(context.chain()), " evaluation keys\n");
  const NewKeys keys = make_key_files(files, context, client.keys);
  print(keys.text(context, client.keys));
  print("wrote ", files.secret, " (keep it), ", files.public_key, ", ", files.evaluation,
        " (for the server)\n");
  flags.write_json(Json::Object{{"params", parameters_json(context)},
                                {"keys", keys.count},
                                {"file_bytes", keys.file_bytes},
                                {"memory_bytes", static_cast<uint64_t>(client.keys.bytes(context.chain()))},
                                {"seconds", keys.seconds},
                                {"test_seconds", keys.check_seconds}});
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::keygen, argc, argv); }
