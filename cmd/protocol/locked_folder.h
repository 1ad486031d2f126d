// A folder that one process uses at a time, on file systems with locks.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include "ckks/base/error.h"

namespace psm::cmd {

class LockedFolder {
 public:
  // Makes the folder unless it exists, and locks it. Throws Error if it `cannot` ("make keys in") be made or opened, or
  // if there is another ("process is making keys in", "server that has").
  //
  // With `waits_at` ("/lock") the lock is that of a file of its own in the folder, so that client and server may be given
  // the same one, and the other is waited for.
  LockedFolder(const std::string& path, const char* cannot, const char* other, const char* waits_at = nullptr)
      : path_(path) {
    std::error_code failed;
    made_ = std::filesystem::create_directories(path, failed);
    descriptor_ = waits_at ? ::open((path + waits_at).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)
                           : ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ < 0)
      throw Error(
          message("cannot ", cannot, " ", path, ": ", failed ? failed.message() : std::strerror(errno)));
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    if (!waits_at) {
      ::close(descriptor_);
      throw Error(message("another ", other, " ", path));
    }
    std::fprintf(stderr, "waiting for another %s %s\n", other, path.c_str());
    while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  // Removes the folder if it was made here and nothing is in it.
  ~LockedFolder() {
    if (made_) ::rmdir(path_.c_str());
    ::close(descriptor_);
  }
  LockedFolder(const LockedFolder&) = delete;
  LockedFolder& operator=(const LockedFolder&) = delete;

  int descriptor() const { return descriptor_; }

 private:
  const std::string path_;
  bool made_ = false;
  int descriptor_ = -1;
};

}  // namespace psm::cmd
