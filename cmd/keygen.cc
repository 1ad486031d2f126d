// The client makes its keys: the secret key, the public key, and the evaluation keys that the server needs to
// run one model, and no others.
#include <cstdio>

#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "cmd/deployment/client/new_keys.h"
#include "cmd/deployment/deployment.h"
#include "cmd/protocol/key_files.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

int keygen(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:keygen -- --model MODEL --out FOLDER [flags]",
      "Makes the keys for running a polynomial model encrypted: secret.key, public.key, plan.json (which\n"
      "ciphertexts go in and come out) and sharing.json (how many answers were shown to others) for the\n"
      "client, evaluation.keys for the server. The secret key never leaves the client; who has public.key\n"
      "and plan.json alone can encrypt. The keys are tested before they are kept.");
  const std::string& model = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const std::string& out =
      flags.output("out", "folder for the keys; made if it is missing", Flags::Output::kFolder);
  const RingFlags ring(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  ring.apply();
  require_given(flags, {"model", "out"});

  const KeyFiles files(resolve_user_path(out));
  const Deployment deployment(attention::load_checkpoint(resolve_user_path(model)), ring.spec());
  const ckks::Context& context = *deployment.context;
  ring.require_security(context);
  std::printf("%s\n", context.describe().c_str());

  const NewKeys keys = make_key_files(files, context, deployment.keys, ends_of(deployment).text(),
                                      deployment.bootstrap.get(), nullptr, deployment.server_bytes());
  std::printf("%s", keys.text(context, deployment.keys).c_str());
  std::printf("wrote %s (keep it), %s, %s, %s, %s (for the server)\n", files.secret.c_str(),
              files.public_key.c_str(), files.plan.c_str(), files.sharing.c_str(), files.evaluation.c_str());
  Json json;
  json["params"] = parameters_json(context);
  json["keys"] = keys.count;
  json["file_bytes"] = keys.file_bytes;
  json["memory_bytes"] = static_cast<uint64_t>(deployment.keys.bytes(context.chain()));
  json["seconds"] = keys.seconds;
  json["keys_tested_one_by_one"] = keys.check.keys;
  json["tested_bootstrap"] = keys.check.bootstrapped;
  json["test_seconds"] = keys.check_seconds;
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::keygen(argc, argv); });
}
