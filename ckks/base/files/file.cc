#include "ckks/base/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

#include "ckks/base/error.h"
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

}  // namespace

std::string resolve_user_path(const std::string& path) {
  const char* folder = std::getenv("BUILD_WORKING_DIRECTORY");
  if (path.empty() || path[0] == '/' || folder == nullptr) return path;
  return (std::filesystem::path(folder) / path).string();
}

std::string read_file(const std::string& path, uint64_t max_bytes) {
  struct Closer {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::unique_ptr<std::FILE, Closer> file(std::fopen(path.c_str(), "rb"));
  struct stat status;
  if (!file || fstat(fileno(file.get()), &status) != 0) {
    throw Error(message("cannot read ", path, ": ", std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) throw Error(message("cannot read ", path, ": it is a folder"));
  if (static_cast<uint64_t>(status.st_size) > max_bytes) {
    throw Error(message("cannot read ", path, ": it has ", status.st_size, " bytes, at most ", max_bytes,
                        " are expected here"));
  }
  std::string content(static_cast<size_t>(status.st_size), '\0');
  const size_t got = std::fread(content.data(), 1, content.size(), file.get());
  if (std::ferror(file.get())) throw Error(message("cannot read ", path, ": ", std::strerror(errno)));
  content.resize(got);
  return content;
}

AtomicFile::AtomicFile(const std::string& path, Access access)
    : path_(path), must_last_(access == Access::kOwnerOnly) {
  if (std::filesystem::is_directory(path)) throw Error(message("cannot write ", path, ": it is a folder"));
  if (path.empty()) throw Error("cannot write a file without a name; give it one");
  // Drawn at random: processes of several machines or containers may write here, and share their numbers.
  const uint64_t number = PublicSeedSource().identifier();
  temporary_ = path + ".part-" + hex(&number, sizeof number);
  const int descriptor = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                access == Access::kOwnerOnly ? 0600 : 0644);
  if (descriptor < 0) throw Error(message("cannot write ", path, ": ", std::strerror(errno)));
  file_ = ::fdopen(descriptor, "wb");
  PSM_CHECK(file_ != nullptr, std::strerror(errno));
  // A secret passes through no buffer that nobody wipes.
  if (access == Access::kOwnerOnly) std::setvbuf(file_, nullptr, _IONBF, 0);
}

AtomicFile::~AtomicFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void AtomicFile::fail(const char* what) {
  throw Error(message("cannot ", what, " ", path_, ": ", std::strerror(errno)), Error::Kind::kFailed);
}

void AtomicFile::write(const void* data, size_t bytes) {
  if (std::fwrite(data, 1, bytes, file_) != bytes) fail("write");
}

void AtomicFile::commit() {
  if (std::fflush(file_) != 0 || ::fsync(fileno(file_)) != 0) fail("write");
  std::FILE* file = std::exchange(file_, nullptr);
  const bool closed = std::fclose(file) == 0;
  if (!closed || std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    std::remove(temporary_.c_str());
    errno = reason;
    fail("write");
  }
  const std::string folder = std::filesystem::path(path_).parent_path();
  const bool lasting = sync_folder(folder.empty() ? "." : folder) || (!must_last_ && errno != EIO);
  if (!lasting) fail("make sure of the name of");
}

void write_file(const std::string& path, std::string_view content) {
  AtomicFile file(path);
  file.write(content);
  file.commit();
}

}  // namespace psm
