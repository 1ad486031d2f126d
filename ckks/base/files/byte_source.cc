#include "ckks/base/files/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ckks/base/error.h"

namespace psm {

// Does not wait for a pipe's writer: the pipe is refused.
static std::FILE* open_to_read(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  return descriptor < 0 ? nullptr : ::fdopen(descriptor, "rb");
}

ByteSource::ByteSource(const std::string& path) : name_(path), file_(open_to_read(path)) {
  struct stat status;
  if (!file_ || fstat(fileno(file_.get()), &status) != 0) {
    throw Error(message("cannot read ", path, ": ", std::strerror(errno)));
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(
        message("cannot read ", path, ": it is ", S_ISDIR(status.st_mode) ? "a folder" : "no regular file"));
  }
  size_ = static_cast<uint64_t>(status.st_size);
  open_to_others_ = (status.st_mode & (S_IRWXG | S_IRWXO)) != 0;
}

ByteSource::ByteSource(std::string name, std::string_view bytes)
    : name_(std::move(name)), bytes_(bytes), size_(bytes.size()) {}

bool ByteSource::read(void* data, size_t bytes) {
  if (bytes > left()) return false;
  if (!file_ && bytes > 0) std::memcpy(data, bytes_.data() + position_, bytes);
  for (size_t done = 0; file_ && done < bytes;) {
    const ssize_t got = ::pread(fileno(file_.get()), static_cast<char*>(data) + done, bytes - done,
                                static_cast<off_t>(position_ + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0)
      throw Error(message("cannot read ", name_, ": ", std::strerror(errno)), Error::Kind::kFailed);
    if (got == 0) return false;  // it was cut while it was read
    done += static_cast<size_t>(got);
  }
  position_ += bytes;
  return true;
}

void ByteSource::seek(uint64_t position) {
  PSM_CHECK(position <= size_, position, " ", size_);
  position_ = position;
}

}  // namespace psm
