#include "ckks/base/files/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/byte_source.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/random/random.h"

namespace psm {
namespace {

// Writes a folder's names to the disk. Not every folder may be read, nor has every file system the notion.
bool sync_folder(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool synced = ::fsync(descriptor) == 0;
  const int reason = errno;
  ::close(descriptor);
  errno = reason;
  return synced;
}

constexpr char kTemporary[] = ".part-";

// Locks a temporary file of one's own; false (and closed) where another process took it for an abandoned one
// between its making and here. Where a file system has no locks, nobody removes anything.
bool lock(int descriptor) {
  struct stat status;
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  const bool taken =
      locked ? ::fstat(descriptor, &status) != 0 || status.st_nlink == 0 : errno == EWOULDBLOCK;
  if (taken) ::close(descriptor);
  return !taken;
}

// Returns the target's name if `name` is that of a temporary file, and otherwise nothing.
std::string_view target_of(std::string_view name) {
  const size_t digits = 2 * sizeof(uint64_t), mark = sizeof kTemporary - 1;
  if (name.size() <= digits + mark) return {};
  const size_t end = name.size() - digits;
  const bool numbered = from_hex(name.substr(end)).has_value();
  return numbered && name.substr(end - mark, mark) == kTemporary ? name.substr(0, end - mark)
                                                                 : std::string_view();
}

// Removes what killed processes left of `path`: temporary files on which nobody holds a lock.
void remove_abandoned(const std::string& path) {
  const std::filesystem::path target(path);
  const std::string name = target.filename();
  std::error_code failed;
  std::filesystem::directory_iterator entry(target.has_parent_path() ? target.parent_path() : ".", failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::filesystem::path& file = entry->path();
    if (name.empty() || target_of(file.filename().native()) != name) continue;
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) continue;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(file.c_str());
    ::close(descriptor);
  }
}

// Where a file of this name lies: behind symbolic links.
std::string behind_links(std::string path) {
  constexpr int kMostLinks = 40;
  std::error_code failed;
  for (int links = 0; links < kMostLinks; ++links) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, failed);
    if (failed) break;  // no link
    path = (std::filesystem::path(path).parent_path() / target).string();
  }
  return path;
}

Error cannot_write(const std::string& path, const std::string& why) {
  return Error("cannot write " + path + ": " + why);
}

}  // namespace

std::string resolve_user_path(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || path[0] == '/' || folder == nullptr) return path;
  return (std::filesystem::path(folder) / path).string();
}

std::string read_file(const std::string& path, uint64_t max_bytes) {
  ByteSource source(path);
  if (source.size() > max_bytes) {
    throw Error(message("cannot read ", path, ": it has ", source.size(), " bytes, at most ", max_bytes,
                        " are expected here"));
  }
  std::string content(static_cast<size_t>(source.size()), '\0');
  if (!source.read(content.data(), content.size())) {
    throw Error(message("cannot read ", path, ": it was cut while it was read"));
  }
  return content;
}

AtomicFile::AtomicFile(const std::string& path, Kind kind)
    : path_(behind_links(path)), must_last_(kind == Kind::kSecret) {
  if (path.empty()) throw Error("cannot write a file without a name; give it one");
  std::error_code failed;
  const std::filesystem::file_status there = std::filesystem::status(path, failed);
  if (there.type() == std::filesystem::file_type::none) throw cannot_write(path, failed.message());
  if (std::filesystem::is_directory(there)) throw cannot_write(path, "it is a folder; name a file");
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there))
    throw cannot_write(path, "it is a device, a pipe or a socket; name a file");
  remove_abandoned(path_);
  int descriptor;
  do {
    // Drawn at random: processes of several machines or containers may write here, and share their numbers.
    const uint64_t number = fresh_identifier();
    temporary_ = path_ + kTemporary + hex(&number, sizeof number);
    descriptor = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (descriptor < 0) throw cannot_write(path, std::strerror(errno));
  } while (!lock(descriptor));
  file_ = ::fdopen(descriptor, "w+b");
  PSM_CHECK(file_ != nullptr, std::strerror(errno));
  if (kind == Kind::kSecret) std::setvbuf(file_, nullptr, _IONBF, 0);
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void AtomicFile::fail(const char* what) const {
  throw Error(message("cannot ", what, " ", path_, ": ", std::strerror(errno)), Error::Kind::kFailed);
}

void AtomicFile::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_) != bytes) fail("write");
  size_ += bytes;
}

void AtomicFile::read_back(uint64_t position, void* data, size_t bytes) const {
  PSM_CHECK(position + bytes <= size_, position, " ", bytes, " ", size_);
  if (std::fflush(file_) != 0) fail("write");
  auto* to = static_cast<char*>(data);
  for (size_t done = 0; done < bytes;) {
    const ssize_t got = ::pread(fileno(file_), to + done, bytes - done, static_cast<off_t>(position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read back");
    done += static_cast<size_t>(got);
  }
}

void AtomicFile::rewrite(uint64_t position, const void* data, size_t bytes) {
  PSM_CHECK(position + bytes <= size_, position, " ", bytes, " ", size_);
  if (::fseeko(file_, static_cast<off_t>(position), SEEK_SET) != 0 ||
      std::fwrite(data, 1, bytes, file_) != bytes || ::fseeko(file_, 0, SEEK_END) != 0)
    fail("write");
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0 || ::fsync(fileno(file_)) != 0) fail("write");
  // While the lock is held: else it could be taken for an abandoned one. Nothing is left for closing to write.
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("write");
  std::fclose(std::exchange(file_, nullptr));
  const std::string folder = std::filesystem::path(path_).parent_path();
  const bool lasting = sync_folder(folder.empty() ? "." : folder) || (!must_last_ && errno != EIO);
  if (!lasting) fail("make sure of the name of");
}

bool is_unfinished(const std::string& name) { return !target_of(name).empty(); }

void write_file(const std::string& path, std::string_view content, AtomicFile::Kind kind) {
  AtomicFile file(path, kind);
  file.write(content);
  file.commit();
}

void require_kept(const std::string& from, const std::string& to, const char* reader) {
  std::error_code none;  // of them is there
  if (std::filesystem::equivalent(from, to, none))
    throw Error(message(reader, " would replace ", from, ", which it reads; give another --out"));
}

void require_writable_folder(const std::string& path) {
  if (path.empty()) throw Error("cannot write to a folder without a name; give it one");
  namespace fs = std::filesystem;
  std::error_code failed;
  fs::path there = fs::absolute(path);
  while (fs::status(there, failed).type() == fs::file_type::not_found && there.has_relative_path())
    there = there.parent_path();
  if (!fs::is_directory(there, failed)) throw cannot_write(path, there.string() + " is no folder");
  try {
    AtomicFile probe((there / ".writable").string());
  } catch (const Error& error) {
    throw cannot_write(path, error.what());
  }
}

}  // namespace psm
