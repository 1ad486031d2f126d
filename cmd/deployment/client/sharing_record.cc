#include "cmd/deployment/client/sharing_record.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxBytes = 1 << 12;

uint64_t checksum_of(uint64_t key, uint64_t limit, uint64_t shared) {
  const std::string text = message("sharing ", key, " ", limit, " ", shared);
  return checksum64(text.data(), text.size());
}

void write_record(const std::string& path, uint64_t key, uint64_t limit, uint64_t shared) {
  Json json;
  json["key"] = key;
  json["limit"] = limit;
  json["shared"] = shared;
  json["checksum"] = checksum_of(key, limit, shared);
  AtomicFile file(path, AtomicFile::Kind::kSecret);
  file.write(json.dump() + "\n");
  file.commit();
}

}  // namespace

SharingRecord::Lock::Lock(const std::string& path) : descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  int locked = -1;
  if (descriptor >= 0) do {
      locked = ::flock(descriptor, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
  if (locked == 0) return;
  const int reason = errno;
  if (descriptor >= 0) ::close(descriptor);
  throw Error(message("cannot lock ", path, ": ", std::strerror(reason)), Error::Kind::kFailed);
}

SharingRecord::Lock::~Lock() { ::close(descriptor); }

void SharingRecord::create(const KeyFiles& files, uint64_t key_fingerprint) {
  write_record(files.sharing, key_fingerprint, 0, 0);
}

SharingRecord::SharingRecord(const KeyFiles& files, uint64_t key_fingerprint)
    : path_(files.sharing), key_(key_fingerprint), lock_(files.secret) {
  if (!std::filesystem::exists(path_)) {
    throw Error(
        message(path_,
                " is missing: how many answers were shared under this key is not known, so no more are; "
                "make new keys, or bring the file back"));
  }
  const Json json = parse_json(read_file(path_, kMaxBytes), path_ + " (how many answers were shared)",
                               {.max_bytes = kMaxBytes, .max_depth = 2});
  const auto number = [&](const char* name) {
    return static_cast<uint64_t>(json.at(name, path_).integer(path_ + ", " + name, INT64_MIN, INT64_MAX));
  };
  limit_ = number("limit");
  shared_ = number("shared");
  if (number("checksum") != checksum_of(number("key"), limit_, shared_) || shared_ > limit_) {
    throw Error(
        message(path_,
                " is damaged: how many answers were shared under this key is not known, so no more are; "
                "make new keys, or bring the file back"));
  }
  if (number("key") != key_) {
    throw Error(
        message(path_, " belongs to another key pair than ", files.secret, "; keep each with its own"));
  }
}

void SharingRecord::spend(uint64_t answers, uint64_t limit) {
  if (limit_ != 0 && limit != limit_) {
    throw Error(message("a limit of ", limit_, " shared answers was fixed for this key and not ", limit,
                        ": the noise of those already shared rests on it; give --queries ", limit_));
  }
  if (answers > limit || shared_ > limit - answers) {
    throw Error(message("of the ", limit, " answers that may be shared under this key, ", shared_,
                        " were, and ", answers, " more pass the limit; make new keys"));
  }
  write_record(path_, key_, limit, shared_ + answers);
  limit_ = limit;
  shared_ += answers;
}

}  // namespace psm::cmd
