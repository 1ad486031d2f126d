// The client makes its keys: the secret key, the public key, and the evaluation keys that the server needs to
// run one model, and no others.
#include <cstdio>
#include <filesystem>

#include "ckks/base/core_dumps.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/progress.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/deployment/client/key_check.h"
#include "cmd/deployment/client/sharing_record.h"
#include "cmd/deployment/deployment.h"
#include "cmd/deployment/key_files.h"
#include "cmd/deployment/plan_ends.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

int keygen(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:keygen -- --model MODEL --out FOLDER [flags]",
      "Makes the keys for running a polynomial model encrypted: secret.key, public.key and plan.json (which\n"
      "ciphertexts go in and come out) for the client, evaluation.keys for the server. The secret key never\n"
      "leaves the client; who has public.key and plan.json alone can encrypt. The keys are tested before\n"
      "they are kept.");
  const std::string& model = flags.text("model", "", "polynomial model (from //cmd:polynomialise)");
  const std::string& out = flags.text("out", "", "folder for the keys; made if it is missing");
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
  for (const std::string& file :
       {files.secret, files.public_key, files.evaluation, files.plan, files.sharing}) {
    if (std::filesystem::exists(file)) {
      throw Error(message(file, " exists already; give another --out, or remove the old keys first"));
    }
  }
  std::filesystem::create_directories(resolve_user_path(out));
  std::printf("%s\n", context.describe().c_str());

  NewKeyFiles made(files);
  const double start = seconds_now();
  const ckks::SecretKey secret = ckks::SecretKey::generate(context);
  ckks::KeyGenerator generator(secret);
  SharingRecord::create(files, secret.fingerprint().key);
  wire::write_secret_key(files.secret, secret);
  wire::write_public_key(files.public_key, context, generator.public_key());
  write_file(files.plan, ends_of(deployment).text());

  // One key at a time: what is written need not stay in memory.
  const ckks::KeyRequest& request = deployment.keys;
  const size_t total = request.count(context.chain());
  Progress progress("generating keys", static_cast<double>(total));
  wire::EvaluationKeysWriter writer(files.evaluation, context, secret.fingerprint());
  for (const ckks::Level level : request.relinearisation_keys(context.chain())) {
    writer.relinearisation(generator.relinearisation(level));
    progress.advance();
  }
  if (request.encapsulation) {
    ckks::KeySwitchKey to_ephemeral, from_ephemeral;
    generator.encapsulation(to_ephemeral, from_ephemeral);
    writer.to_ephemeral(to_ephemeral);
    writer.from_ephemeral(from_ephemeral);
    progress.advance();
  }
  for (const auto& [element, level] : request.galois_keys(context.chain())) {
    writer.galois(element, generator.galois(element, level));
    progress.advance();
  }
  writer.commit();
  const double seconds = seconds_now() - start;
  const KeyCheck check = check_keys(files, context, deployment.bootstrap.get(), deployment.server_bytes());
  made.keep();
  const double check_seconds = seconds_now() - start - seconds;

  std::printf("%zu evaluation keys, %s in the file, %s in the server's memory; %s\n", total,
              bytes_text(static_cast<double>(writer.bytes_written())).c_str(),
              bytes_text(static_cast<double>(request.bytes(context.chain()))).c_str(),
              seconds_text(seconds).c_str());
  std::printf("tested: encryption under both keys, %zu evaluation keys one by one, %s; %s\n", check.keys,
              check.bootstrapped              ? "the others in a bootstrap"
              : deployment.keys.encapsulation ? "no bootstrap (too little memory)"
                                              : "no bootstrap (none is needed)",
              seconds_text(check_seconds).c_str());
  std::printf("wrote %s (keep it), %s, %s, %s (for the server)\n", files.secret.c_str(),
              files.public_key.c_str(), files.plan.c_str(), files.evaluation.c_str());
  Json json;
  json["params"] = parameters_json(context);
  json["keys"] = total;
  json["file_bytes"] = writer.bytes_written();
  json["memory_bytes"] = static_cast<uint64_t>(request.bytes(context.chain()));
  json["seconds"] = seconds;
  json["keys_tested_one_by_one"] = check.keys;
  json["tested_bootstrap"] = check.bootstrapped;
  json["test_seconds"] = check_seconds;
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_command([&] {
    psm::forbid_core_dumps();
    return psm::cmd::keygen(argc, argv);
  });
}
