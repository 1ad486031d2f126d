#include "cmd/deployment/client/new_keys.h"

#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/progress.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/deployment/client/sharing_record.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

void require_no_keys(const KeyFiles& files) {
  for (const std::string& file :
       {files.secret, files.public_key, files.evaluation, files.plan, files.sharing}) {
    if (std::filesystem::exists(file))
      throw Error(message(file, " exists already; give another --out, or remove the old keys first"));
  }
}

NewKeys make_key_files(const KeyFiles& files, const ckks::Context& context, const ckks::KeyRequest& request,
                       const std::string& plan, const ckks::BootstrapPlan* bootstrap,
                       const ckks::SparseBootstrapPlan* sparse, size_t server_bytes) {
  NewKeyFiles made(files);
  NewKeys keys;
  const double start = seconds_now();
  const ckks::SecretKey secret = ckks::SecretKey::generate(context);
  ckks::KeyGenerator generator(secret);
  SharingRecord::create(files, secret.fingerprint().key);
  wire::write_secret_key(files.secret, secret);
  wire::write_public_key(files.public_key, context, generator.public_key());
  if (!plan.empty()) write_file(files.plan, plan);

  keys.count = request.count(context.chain());
  Progress progress("generating keys", static_cast<double>(keys.count));
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
  keys.file_bytes = writer.bytes_written();
  keys.seconds = seconds_now() - start;
  keys.check = check_keys(files, context, bootstrap, sparse, server_bytes);
  made.keep();
  keys.check_seconds = seconds_now() - start - keys.seconds;
  return keys;
}

std::string NewKeys::text(const ckks::Context& context, const ckks::KeyRequest& request) const {
  return message(count, " evaluation keys, ", bytes_text(static_cast<double>(file_bytes)), " in the file, ",
                 bytes_text(static_cast<double>(request.bytes(context.chain()))), " in the server's memory; ",
                 seconds_text(seconds), "\ntested: encryption under both keys, ", check.keys,
                 " evaluation keys one by one, ",
                 check.bootstrapped      ? "the others in a bootstrap"
                 : request.encapsulation ? "no bootstrap (too little memory)"
                                         : "no bootstrap (none is needed)",
                 "; ", seconds_text(check_seconds), "\n");
}

}  // namespace psm::cmd
