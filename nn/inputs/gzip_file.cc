#include "nn/inputs/gzip_file.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ckks/base/error.h"
#include "ckks/base/files/byte_source.h"
#include "ckks/base/files/file.h"

extern char** environ;

namespace psm::nn {
namespace {

Error failed(const std::string& path, int error) {
  return Error(message("cannot run gzip to read ", path, ": ", std::strerror(error),
                       "; install gzip, or decompress the file and give that"),
               Error::Kind::kFailed);
}

}  // namespace

std::string read_maybe_gzip(const std::string& path, uint64_t max_bytes) {
  char first[2] = {};
  if (!ByteSource(path).read(first, sizeof first) || std::memcmp(first, "\x1f\x8b", sizeof first) != 0)
    return read_file(path, max_bytes);
  std::string content;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw failed(path, errno);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const char* const words[] = {"gzip", "-dc", "--", path.c_str(), nullptr};
  pid_t process = 0;
  const int error =
      ::posix_spawnp(&process, words[0], &actions, nullptr, const_cast<char* const*>(words), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    throw failed(path, error);
  }
  char buffer[1 << 16];
  ssize_t got = 1;
  while (got != 0 && content.size() <= max_bytes) {
    got = ::read(ends[0], buffer, sizeof buffer);
    if (got < 0 && errno != EINTR) break;
    if (got > 0) content.append(buffer, static_cast<size_t>(got));
  }
  const int unread = got < 0 ? errno : 0;
  ::close(ends[0]);  // ends a gzip that still writes
  int status = 0;
  pid_t ended = 0;
  do ended = ::waitpid(process, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (unread != 0)
    throw Error(message("cannot read from gzip for ", path, ": ", std::strerror(unread)),
                Error::Kind::kFailed);
  if (content.size() > max_bytes)
    throw Error(
        message(path, " holds more than ", max_bytes, " bytes once decompressed; give a smaller file"));
  if (ended < 0)  // as for whoever ignores the ends of its children
    throw Error(message("cannot tell whether gzip read ", path,
                        " whole; start this program with SIGCHLD not ignored, or decompress the file first"),
                Error::Kind::kFailed);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error(message(path, " is damaged or cut off: gzip cannot decompress it; fetch it again"));
  return content;
}

}  // namespace psm::nn
