#include "cmd/deployment/client/new_keys.h"

#include <fcntl.h>
#include <sys/file.h>
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
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/deployment/client/sharing_record.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

// All files of a pair, the secret key last.
std::vector<std::string> all_of(const KeyFiles& files) {
  return {files.evaluation, files.public_key, files.plan, files.sharing, files.secret};
}

fs::path folder_of(const KeyFiles& files) { return fs::path(files.secret).parent_path(); }

}  // namespace

NewKeyFiles::Folder::Folder(const std::string& path) : made(fs::create_directories(path)) {
  descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw Error(message("cannot open ", path, ": ", std::strerror(errno)));
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor);
  throw Error(message("another process is making keys in ", path));
}

NewKeyFiles::Folder::~Folder() { ::close(descriptor); }

NewKeyFiles::NewKeyFiles(const KeyFiles& places)
    : places_(places),
      making_((folder_of(places) / ".new-keys.part").string()),
      files_(making_),
      folder_(folder_of(places).string()) {
  for (const std::string& file : all_of(places)) {
    if (fs::exists(file))
      throw Error(message(file, " exists already; give another folder, or remove the old keys first"));
  }
  fs::remove_all(making_);
  fs::create_directory(making_);
}

NewKeyFiles::~NewKeyFiles() {
  std::error_code ignored;
  fs::remove_all(making_, ignored);
  if (folder_.made) fs::remove(folder_of(places_), ignored);  // unless it has keys
}

void NewKeyFiles::keep() {
  const std::vector<std::string> from = all_of(files_), to = all_of(places_);
  for (size_t i = 0; i < from.size(); ++i) {
    if (fs::exists(from[i])) fs::rename(from[i], to[i]);  // not every pair has a plan
  }
  if (::fsync(folder_.descriptor) != 0)
    throw Error(message("cannot make sure of the names of ", places_.secret,
                        " and the files beside it: ", std::strerror(errno)),
                Error::Kind::kFailed);
}

NewKeys make_key_files(const KeyFiles& places, const ckks::Context& context, const ckks::KeyRequest& request,
                       const std::string& plan, const ckks::BootstrapPlan* bootstrap,
                       const ckks::SparseBootstrapPlan* sparse, size_t server_bytes) {
  const InterruptionWatch watch;
  NewKeyFiles made(places);
  const KeyFiles& files = made.files();
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
    stop_if_interrupted(kNoKeysKept);
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
    stop_if_interrupted(kNoKeysKept);
  }
  writer.commit();
  keys.file_bytes = writer.bytes_written();
  keys.seconds = seconds_now() - start;
  keys.check = check_keys(files, context, bootstrap, sparse, server_bytes);
  stop_if_interrupted(kNoKeysKept);
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
