// A program as a child process, with pipes to its standard input and output. It shares our standard error.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace psm::cmd {

class ChildProcess {
 public:
  // A program and its arguments. Throws Error if it cannot be started. It is killed if it has not ended `patience`
  // milliseconds after its pipes were closed.
  explicit ChildProcess(const std::vector<std::string>& command, int64_t patience = INT64_MAX);
  // Closes the pipes and waits for the process. It ends after its current computation, or at once after an
  // interruption.
  ~ChildProcess() { finish(); }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int from() const { return from_; }
  int to() const { return to_; }
  // Everything that it prints until it closes its output.
  std::string output();
  // Closes the pipes and waits. Returns the exit status, or, like shells, 128 plus the signal; 1 if the system does not
  // tell.
  int wait();
  // Closes the pipes, waits, and says how it ended: "'COMMAND' ended with exit status 1".
  std::string ending();

 private:
  void finish();

  std::string command_;
  int64_t patience_;
  pid_t process_ = -1;  // none after finish()
  int from_ = -1, to_ = -1, status_ = 0;
  bool known_ = false;  // status_
};

// Returns the path of a command of this repository: in the running program's folder, in a package next to
// that folder, or (for tests) below it. Throws Error if it is in none of them.
std::string sibling_command(const std::string& name);

}  // namespace psm::cmd
