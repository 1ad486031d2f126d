#include "cmd/client/new_keys.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/interruption.h"
#include "ckks/base/progress.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/key_verifier.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "ckks/wire/public_key_file.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

// Said where an interruption stops the making or the test of keys.
constexpr char kNoKeysKept[] = "no keys were kept; run the same command again to make them";

// All files of a pair, the secret key last.
std::vector<std::string> all_of(const KeyFiles& files) {
  return {files.evaluation, files.public_key, files.secret};
}

fs::path folder_of(const KeyFiles& files) { return fs::path(files.secret).parent_path(); }

[[noreturn]] void refuse_to_replace(const std::string& file) {
  throw Error(message(file, " exists already; give another folder, or remove the old keys first"));
}

}  // namespace

NewKeyFiles::NewKeyFiles(const KeyFiles& places)
    : places_(places),
      making_((folder_of(places) / ".new-keys.part").string()),
      whole_((folder_of(places) / ".new-keys.whole").string()),
      files_(making_),
      folder_(folder_of(places).string(), "make keys in", "process is making keys in") {
  if (fs::exists(whole_)) move_whole();
  for (const std::string& file : all_of(places)) {
    if (fs::exists(file)) refuse_to_replace(file);
  }
  fs::remove_all(making_);
  fs::create_directory(making_);
}

NewKeyFiles::~NewKeyFiles() {
  std::error_code ignored;
  fs::remove_all(making_, ignored);
}

void NewKeyFiles::keep() {
  fs::rename(making_, whole_);
  move_whole();
}

void NewKeyFiles::move_whole() {
  const std::vector<std::string> from = all_of(KeyFiles(whole_)), to = all_of(places_);
  for (size_t i = 0; i < from.size(); ++i)
    if (fs::exists(from[i]) && fs::exists(to[i])) refuse_to_replace(to[i]);
  for (size_t i = 0; i < from.size(); ++i)
    if (fs::exists(from[i])) fs::rename(from[i], to[i]);
  fs::remove(whole_);
  if (::fsync(folder_.descriptor()) != 0)
    throw Error(message("cannot make sure of the names of ", places_.secret,
                        " and the files beside it: ", std::strerror(errno)),
                Error::Kind::kFailed);
}

void check_key_files(const KeyFiles& files, const ckks::Context& context) {
  const ckks::SecretKey secret = wire::read_secret_key(files.secret, context);
  ckks::KeyVerifier verifier(secret);
  verifier.check(wire::read_public_key(files.public_key, context));
  wire::EvaluationKeysReader reader(files.evaluation, context);
  Progress progress("testing keys", static_cast<double>(reader.entries().size()));
  for (const auto& entry : reader.entries()) {
    verifier.check(entry.role, entry.element, reader.load(entry));
    progress.advance();
    stop_if_interrupted(kNoKeysKept);
  }
  verifier.finish();
}

NewKeys make_key_files(const KeyFiles& places, const ckks::Context& context,
                       const ckks::KeyRequest& request) {
  const InterruptionWatch watch;
  NewKeyFiles made(places);
  const KeyFiles& files = made.files();
  NewKeys keys;
  const double start = seconds_now();
  const ckks::SecretKey secret = ckks::SecretKey::generate(context);
  ckks::KeyGenerator generator(secret);
  wire::write_secret_key(files.secret, secret);
  wire::write_public_key(files.public_key, context, generator.public_key());

  keys.count = request.count(context.chain());
  Progress progress("generating keys", static_cast<double>(request.keys(context.chain()).size()));
  wire::EvaluationKeysWriter writer(files.evaluation, context, secret.fingerprint());
  generator.make(request, [&](const ckks::KeyName& name, const ckks::KeySwitchKey& key) {
    writer.write(name.role, name.element, key);
    progress.advance();
    stop_if_interrupted(kNoKeysKept);
  });
  writer.commit();
  keys.file_bytes = wire::evaluation_keys_file_bytes(context, request);
  keys.seconds = seconds_now() - start;
  check_key_files(files, context);
  stop_if_interrupted(kNoKeysKept);
  made.keep();
  keys.check_seconds = seconds_now() - start - keys.seconds;
  return keys;
}

std::string NewKeys::text(const ckks::Context& context, const ckks::KeyRequest& request) const {
  return message(count, " evaluation keys, ", bytes_text(static_cast<double>(file_bytes)), " in the file, ",
                 bytes_text(static_cast<double>(request.bytes(context.chain()))), " in the server's memory; ",
                 seconds_text(seconds), "\ntested: the public key and every evaluation key; ",
                 seconds_text(check_seconds), "\n");
}

}  // namespace psm::cmd
