// A program as a child process, joined by two pipes to its standard input and output; what it says on standard
// error goes where ours goes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace psm::cmd {

class ChildProcess {
 public:
  // A program and its arguments. Throws Error if it cannot be started.
  explicit ChildProcess(const std::vector<std::string>& command);
  // Closes the pipes, which ends the conversation after what it computes, or at an interruption at once; and
  // waits for it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int from() const { return from_; }
  int to() const { return to_; }
  // All that it prints until it closes its output.
  std::string output();
  // Closes the pipes and waits: the exit status, or as shells have it 128 and the signal.
  int wait();
  // Closes the pipes, waits, and says how it ended: "'COMMAND' ended with exit status 1".
  std::string ending();

 private:
  void finish();

  std::string command_;
  pid_t process_ = -1;  // none after finish()
  int from_ = -1, to_ = -1, status_ = 0;
};

// Returns the path of a command of this repository: in the folder of the program that runs, or in a package next to that
// folder or (for tests) below it. Throws Error if it is in neither.
std::string sibling_command(const std::string& name);

}  // namespace psm::cmd
