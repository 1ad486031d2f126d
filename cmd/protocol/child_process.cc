#include "cmd/protocol/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/interruption.h"

extern char** environ;

namespace psm::cmd {

ChildProcess::ChildProcess(const std::vector<std::string>& command, int64_t patience) : patience_(patience) {
  // Whoever started this process may ignore the ends of children: then waitpid(2) would not tell how one ended.
  ::signal(SIGCHLD, SIG_DFL);
  int request[2], answer[2];
  if (::pipe2(request, O_CLOEXEC) != 0 || ::pipe2(answer, O_CLOEXEC) != 0)
    throw Error(message("cannot make a pipe: ", std::strerror(errno)), Error::Kind::kFailed);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, request[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, answer[1], STDOUT_FILENO);
  // It stands where the user stands, and not where Bazel starts programs.
  ::posix_spawn_file_actions_addchdir_np(&actions, resolve_user_path(".").c_str());
  std::vector<char*> words, environment;
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (!std::string_view(*variable).starts_with("BUILD_WORKING_DIRECTORY="))
      environment.push_back(*variable);
  environment.push_back(nullptr);
  for (const std::string& word : command) {
    words.push_back(const_cast<char*>(word.c_str()));
    command_ += (command_.empty() ? "" : " ") + word;
  }
  words.push_back(nullptr);
  const int error = ::posix_spawnp(&process_, words[0], &actions, nullptr, words.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(request[0]);
  ::close(answer[1]);
  from_ = answer[0];
  to_ = request[1];
  if (error != 0) {
    ::close(from_);
    ::close(to_);
    throw Error(message("cannot start ", command[0], ": ", std::strerror(error)));
  }
}

void ChildProcess::finish() {
  if (process_ < 0) return;
  ::close(to_);
  ::close(from_);
  if (interrupted()) ::kill(process_, SIGTERM);
  pid_t ended = 0;
  for (; (ended = ::waitpid(process_, &status_, WNOHANG)) == 0; ::usleep(1000))
    if (patience_-- == 0) ::kill(process_, SIGKILL);
  known_ = ended > 0;
  process_ = -1;
}

std::string ChildProcess::output() {
  std::string text;
  char bytes[4096];
  for (ssize_t got = 0; (got = ::read(from_, bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR);)
    if (got > 0) text.append(bytes, static_cast<size_t>(got));
  return text;
}

int ChildProcess::wait() {
  finish();
  if (!known_) return 1;
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

std::string ChildProcess::ending() {
  finish();
  if (!known_) return message("'", command_, "' ended; its exit status is not known");
  if (WIFSIGNALED(status_))
    return message("'", command_, "' was ended by signal ", WTERMSIG(status_), " (",
                   ::strsignal(WTERMSIG(status_)), ")");
  return message("'", command_, "' ended with exit status ", WEXITSTATUS(status_));
}

std::string sibling_command(const std::string& name) {
  std::error_code failed;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", failed);
  for (const char* folder : {".", "../client", "../server", "../tools", "tools"}) {
    const std::filesystem::path path = self.parent_path() / folder / name;
    if (!failed && std::filesystem::exists(path)) return path.lexically_normal().string();
  }
  throw Error(message("the command ", name, " is not next to ", self.string(),
                      "; build it with bazel build //cmd:", name));
}

}  // namespace psm::cmd
