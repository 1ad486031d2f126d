#include "nn/inputs/gzip_file.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"

extern char** environ;

namespace psm::nn {
namespace {

// A running `gzip -dc PATH` and the end of the pipe that its output comes from; ends and collects it when
// destroyed.
class Gunzip {
 public:
  explicit Gunzip(const std::string& path) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw failed(path, errno);
    output_ = ends[0];
    posix_spawn_file_actions_t actions;
    int error = ::posix_spawn_file_actions_init(&actions);
    if (error == 0) {
      error = ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
      if (error == 0) error = ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
      if (error == 0)
        error = ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
      std::array<std::string, 4> words = {"gzip", "-dc", "--", path};
      std::array<char*, 5> arguments{};
      for (size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
      if (error == 0)
        error = ::posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
      ::posix_spawn_file_actions_destroy(&actions);
    }
    ::close(ends[1]);
    if (error == 0) return;
    ::close(output_);
    throw failed(path, error);
  }

  ~Gunzip() {
    if (process_ > 0) {
      ::kill(process_, SIGKILL);
      wait();
    }
    ::close(output_);
  }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  // Up to `size` bytes; 0 at the end, negative with errno.
  ssize_t read(char* into, size_t size) {
    ssize_t got = 0;
    do got = ::read(output_, into, size);
    while (got < 0 && errno == EINTR);
    return got;
  }

  // Whether it ended of itself and well.
  bool wait() {
    int status = 0;
    pid_t ended = 0;
    do ended = ::waitpid(process_, &status, 0);
    while (ended < 0 && errno == EINTR);
    process_ = 0;
    return ended > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }

 private:
  static Error failed(const std::string& path, int error) {
    return Error(message("cannot run gzip to read ", path, ": ", std::strerror(error),
                         "; install gzip, or decompress the file and give that"),
                 Error::Kind::kFailed);
  }

  pid_t process_ = 0;
  int output_ = -1;
};

}  // namespace

std::string read_maybe_gzip(const std::string& path, uint64_t max_bytes) {
  std::string content = read_file(path, max_bytes);
  if (!content.starts_with("\x1f\x8b")) return content;
  content.clear();
  Gunzip gunzip(path);
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t got = gunzip.read(buffer.data(), buffer.size());
    if (got < 0)
      throw Error(message("cannot read from gzip for ", path, ": ", std::strerror(errno)),
                  Error::Kind::kFailed);
    if (got == 0) break;
    if (content.size() + static_cast<size_t>(got) > max_bytes)
      throw Error(
          message(path, " holds more than ", max_bytes, " bytes once decompressed; give a smaller file"));
    content.append(buffer.data(), static_cast<size_t>(got));
  }
  if (!gunzip.wait())
    throw Error(message(path, " is damaged or cut off: gzip cannot decompress it; fetch it again"));
  return content;
}

}  // namespace psm::nn
