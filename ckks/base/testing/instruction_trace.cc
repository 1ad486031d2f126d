#include "ckks/base/testing/instruction_trace.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "ckks/base/error.h"

namespace psm {

std::optional<InstructionTrace> trace_instructions(const std::function<void()>& function) {
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
  const pid_t child = fork();
  PSM_CHECK(child >= 0, std::strerror(errno));
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    function();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return std::nullopt;
  InstructionTrace trace;
  for (;;) {
    user_regs_struct registers;
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) break;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) break;
    PSM_CHECK(WSTOPSIG(status) == SIGTRAP, "signal ", WSTOPSIG(status));
    PSM_CHECK(ptrace(PTRACE_GETREGS, child, nullptr, &registers) == 0, std::strerror(errno));
    ++trace.steps;
    trace.checksum = (trace.checksum ^ registers.rip) * 0x9e3779b97f4a7c15;
    trace.checksum ^= trace.checksum >> 29;
  }
  PSM_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the traced child ended with status ", status);
  return trace;
#else
  (void)function;
  return std::nullopt;
#endif
}

}  // namespace psm
