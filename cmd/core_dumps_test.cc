// Commands that hold a secret key or what was decrypted forbid core dumps before they read anything.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "ckks/base/testing/runfile.h"
#include "ckks/base/testing/skip.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

pid_t started(const std::string& line) {
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(1);
  }
  return child;
}

// What /proc/PID/limits says of core files: the soft limit and the hard one.
std::string core_limits(pid_t process) {
  std::ifstream limits("/proc/" + std::to_string(process) + "/limits");
  const std::string name = "Max core file size";
  for (std::string text, soft, hard; std::getline(limits, text);) {
    if (!text.starts_with(name)) continue;
    std::istringstream(text.substr(name.size())) >> soft >> hard;
    return soft + " " + hard;
  }
  return "";
}

// Those of a command that waits for the file of `flag`, a pipe that nobody writes to.
std::string core_limit_of(const std::string& command, const std::string& flag, const std::string& arguments) {
  const std::string pipe = path_of(std::filesystem::path(command).filename().string() + ".pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  const std::string line = "ulimit -S -c $(ulimit -H -c); exec " + located(command) + " " + flag + " " +
                           pipe + " " + arguments + " >" + path_of("out") + " 2>" + path_of("err");
  const pid_t child = started(line);
  // It can be opened for writing once the command has opened it for reading.
  int writer = -1, status = 0;
  while ((writer = open(pipe.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO &&
         waitpid(child, &status, WNOHANG) == 0) {
    usleep(1000);
  }
  REQUIRE_MESSAGE(writer >= 0, command << " did not open the file of " << flag);
  const std::string found = core_limits(child);
  close(writer);
  waitpid(child, &status, 0);
  return found;
}

// Those of a command that reads no pipe, as soon as both are zero: the command is killed then.
std::string core_limit_while_running(const std::string& command) {
  const std::string line = "ulimit -S -c $(ulimit -H -c); exec " + located(command) + " >/dev/null 2>&1";
  const pid_t child = started(line);
  std::string found;
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    found = core_limits(child);
    if (found == "0 0") {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    usleep(1000);
  }
  return found;
}

TEST_CASE("no command that holds a secret key or what was decrypted leaves a core file") {
  rlimit limit;
  REQUIRE(getrlimit(RLIMIT_CORE, &limit) == 0);
  if (limit.rlim_max == 0) return say_skipped("core files are forbidden here already");
  const std::string nowhere = path_of("nowhere"), both = "--keys " + nowhere, text = path_of("text");
  std::string words_to_learn;
  for (int i = 0; i < 8000; ++i)
    words_to_learn += "the cat number " + std::to_string(i) + " sat on the mat. ";
  write_file(text, words_to_learn);
  for (const auto& [command, flag, arguments] : std::vector<std::array<std::string, 3>>{
           {"keygen", "--client", "--out " + nowhere},
           {"encrypt", "--client", both + " --out " + nowhere + ".ct"},
           {"decrypt", "--client", both + " --in " + nowhere},
           {"compare", "--client", "--program x --prompt x"},
           {"demo", "--model", ""},
           {"generate", "--client", "--prompt x --program x"},
           {"record", "--client", "--program x --prompt x --out " + nowhere},
           {"bench", "--model", "--suite model"},
           {"study", "", "run power --text " + text + " --out " + nowhere}}) {
    CAPTURE(command);
    CHECK((flag.empty() ? core_limit_while_running(command + " " + arguments)
                        : core_limit_of(command, flag, arguments)) == "0 0");
  }
}

}  // namespace
}  // namespace psm::cmd
