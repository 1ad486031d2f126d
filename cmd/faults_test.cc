// Faults at every file operation of a command: the disk is full, a call is interrupted, a write or read is short, the
// process is killed. The command succeeds or says one clear error, what it leaves is whole or not there, and the same
// command again gives the same result. In a small ring that offers no security.
//
// A command runs under ptrace(2), with one thread, so its system calls are seen one by one; so does the server that it
// starts. The first, the middle and the last of a series of the same call on the same file are chosen; for commands that
// take long, every second or third of these.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/testing/test_pipeline.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

enum class Fault { kNone, kKill, kNoSpace, kInterrupted, kShort };
enum class Whose { kCommand, kServer };  // the process that has the fault

struct Operation {
  long call;
  uint64_t file;
  bool operator==(const Operation&) const = default;
};

struct Run {
  int exit_code = -1;  // 128 + 9: killed
  std::vector<Operation> operations;
};

// Calls that change files, of which `files` are open; openat(2) only where it may make one.
std::optional<Operation> operation_of(const user_regs_struct& regs, const std::set<uint64_t>& files) {
  const auto call = static_cast<long>(regs.orig_rax);
  switch (call) {
    case SYS_openat:
      return regs.rdx & O_CREAT ? std::optional(Operation{call, 0}) : std::nullopt;
    case SYS_write:
    case SYS_pwrite64:
    case SYS_fsync:
      return files.contains(regs.rdi) ? std::optional(Operation{call, regs.rdi}) : std::nullopt;
    case SYS_rename:
    case SYS_mkdir:
    case SYS_unlink:
    case SYS_unlinkat:
    case SYS_rmdir:
      return Operation{call, 0};
    default:
      return std::nullopt;
  }
}

// A process that is traced.
struct Traced {
  bool inside = false;        // a system call
  std::set<uint64_t> files;   // descriptors that openat(2) made, and no pipes
  std::optional<int> answer;  // of a call that is not made
};

// Runs a command with a fault at one of its operations, or of the server that it starts, or, for kShort, with every read
// and write short. Words are separated by single spaces. Returns nullopt if the system forbids tracing.
std::optional<Run> run_with(const std::string& line, Whose whose, Fault fault, size_t at = 0) {
  std::istringstream text(located(line) + " --threads 1");
  std::vector<std::string> words(std::istream_iterator<std::string>(text), {});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string out = path_of("out"), err = path_of("err");
  const pid_t child = fork();
  if (child == 0) {
    const auto to = [](const std::string& path, int descriptor) {
      ::dup2(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), descriptor);
    };
    to(out, STDOUT_FILENO), to(err, STDERR_FILENO);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(99);
    ::execv(arguments[0], arguments.data());
    _exit(98);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (!WIFSTOPPED(status)) return std::nullopt;
  ::ptrace(PTRACE_SETOPTIONS, child, nullptr,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL |
               (whose == Whose::kServer ? PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK : 0));
  Run run;
  std::map<pid_t, Traced> all{{child, {}}};
  // Sees to a process that has stopped. Returns the signal that it gets.
  const auto stopped = [&](pid_t process) {
    const bool is_new = !all.contains(process);
    auto& [inside, files, answer] = all[process];
    if (WSTOPSIG(status) != (SIGTRAP | 0x80))
      return WSTOPSIG(status) == SIGTRAP || is_new ? 0 : WSTOPSIG(status);
    inside = !inside;
    user_regs_struct regs;
    ::ptrace(PTRACE_GETREGS, process, nullptr, &regs);
    const auto call = static_cast<long>(regs.orig_rax);
    if (!inside) {
      if (call == SYS_openat) files.insert(regs.rax);
      if (answer) {
        regs.rax = static_cast<uint64_t>(-*answer);
        ::ptrace(PTRACE_SETREGS, process, nullptr, &regs);
        answer.reset();
      }
      return 0;
    }
    if (call == SYS_close) files.erase(regs.rdi);
    if ((process == child) != (whose == Whose::kCommand)) return 0;
    // The loader of shared libraries wants all of the headers that it reads behind the first 64 bytes.
    const bool loads = call == SYS_pread64 && regs.r10 == 64;
    const bool moves = call == SYS_read || call == SYS_pread64 || call == SYS_write || call == SYS_pwrite64;
    if (!loads && fault == Fault::kShort && moves && regs.rdx > 1) {
      regs.rdx = (regs.rdx + 1) / 2;
      ::ptrace(PTRACE_SETREGS, process, nullptr, &regs);
    }
    const std::optional<Operation> operation = operation_of(regs, files);
    if (!operation) return 0;
    run.operations.push_back(*operation);
    if (run.operations.size() != at + 1) return 0;
    if (fault == Fault::kKill) ::kill(process, SIGKILL);
    if (fault == Fault::kNoSpace) answer = ENOSPC;
    if (fault == Fault::kInterrupted) answer = EINTR;
    if (answer) {
      regs.orig_rax = static_cast<uint64_t>(-1);
      ::ptrace(PTRACE_SETREGS, process, nullptr, &regs);
    }
    return 0;
  };
  ::ptrace(PTRACE_SYSCALL, child, nullptr, 0);
  while (!all.empty()) {
    const pid_t process = waitpid(-1, &status, __WALL);
    REQUIRE(process > 0);
    if (WIFSTOPPED(status)) {
      ::ptrace(PTRACE_SYSCALL, process, nullptr, stopped(process));
      continue;
    }
    all.erase(process);
    if (process == child) run.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  return run;
}

// The first, the middle and the last of each series of equal operations.
std::vector<size_t> chosen(const std::vector<Operation>& all) {
  std::vector<size_t> places;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end] == all[begin]) ++end;
    for (const size_t place : {begin, (begin + end) / 2, end - 1})
      if (places.empty() || places.back() < place) places.push_back(place);
  }
  return places;
}

struct Options {
  size_t step = 1;  // every so manyth of the chosen operations is faulted
  Whose whose = Whose::kCommand;
  std::string passing = {};  // what is there only until the command has succeeded
};

// `written` are all files and folders that the command makes; `result` reads them, and is empty if they are not there.
void check_faults(const std::string& command, const std::vector<std::string>& written,
                  const std::function<std::string()>& result, const Options& options = {}) {
  const auto& [step, whose, passing] = options;
  CAPTURE(command);
  const auto clear = [&] {
    for (const std::string& path : written) fs::remove_all(path);
  };
  clear();
  const std::optional<Run> whole = run_with(command, whose, Fault::kNone);
  if (!whole) return say_skipped("this system does not let a process trace its child");
  INFO(read_file(path_of("err"), 1 << 20));
  REQUIRE(whole->exit_code == 0);
  const std::string expected = result();
  REQUIRE(expected != "");
  clear();
  CHECK(run_with(command, whose, Fault::kShort)->exit_code == 0);
  CHECK(result() == expected);
  size_t failed = 0;
  const std::vector<size_t> places = chosen(whole->operations);
  for (size_t i = 0; i < places.size(); i += step) {
    const size_t at = places[i];
    for (const Fault fault : {Fault::kKill, i / step % 2 == 0 ? Fault::kNoSpace : Fault::kInterrupted}) {
      const std::string what = message("fault ", static_cast<int>(fault), " at operation ", at, " of ",
                                       whole->operations.size(), ", call ", whole->operations[at].call);
      CAPTURE(what);
      clear();
      const Run run = *run_with(command, whose, fault, at);
      const std::string err = read_file(path_of("err"), 1 << 20), left = result();
      CAPTURE(err);
      CHECK((left == "" || left == expected));
      if (run.exit_code != 0) {
        ++failed;
        const bool killed = fault == Fault::kKill && whose == Whose::kCommand;
        CHECK(run.exit_code == (killed ? 128 + SIGKILL : run.exit_code));
        CHECK(run.exit_code != 128 + SIGABRT);
        CHECK(run.exit_code != 128 + SIGSEGV);
        if (!killed) CHECK(count(err, "error: ") == 1);
        run_with(command, whose, Fault::kNone);
        CHECK_FALSE(fs::exists(passing));
      }
      CHECK(result() == expected);
    }
  }
  CHECK(failed > 0);
}

const std::string kPrompts = path_of("prompts.ct"), kAnswers = path_of("answers.ct");

std::string bytes_of(const std::string& path) { return fs::exists(path) ? read_file(path, 1 << 30) : ""; }
// Names and lengths of what is in a folder, but for one folder in it. Drawn keys differ in every run, and have the same
// lengths.
std::string sizes_in(const std::string& folder, const std::string& except) {
  std::map<std::string, uintmax_t> sizes;
  if (fs::exists(folder))
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path() != except) sizes[entry.path().filename()] = entry.file_size();
  std::string text;
  for (const auto& [name, size] : sizes) text += message(name, " ", size, "\n");
  return text;
}

TEST_CASE(
    "a fault at any file operation of compile, keygen, encrypt, infer or decrypt leaves nothing "
    "half-written") {
  make_model(kModel, 1, {.layers = 1});
  check_faults("compile --model " + kModel + " --out " + path_of("model") + kRing, {kClient, kProgram},
               [] { return bytes_of(kClient) == "" ? "" : bytes_of(kProgram) + bytes_of(kClient); });
  // Only what is being made is there, and a pair that is being moved is not there yet.
  const std::string making = kKeys + "/.new-keys.part", whole = kKeys + "/.new-keys.whole";
  check_faults("keygen --insecure --client " + kClient + " --out " + kKeys, {kKeys},
               [&] { return fs::exists(whole) ? "" : sizes_in(kKeys, making); },
               {.step = 2, .passing = making});
  check_faults("encrypt " + client_flags() + "--sample 12 --out " + kPrompts, {kPrompts},
               [] { return fs::exists(kPrompts) ? message(fs::file_size(kPrompts)) : ""; });
  const std::string state = path_of("state");  // of two groups
  check_faults("infer " + infer_flags("prompts.ct", "answers.ct") + "--state " + state, {kAnswers, state},
               [] { return bytes_of(kAnswers); }, {.passing = state});
  const std::string logits = path_of("logits");
  check_faults("decrypt " + client_flags() + "--in " + kAnswers + " --logits " + logits, {logits},
               [&] { return bytes_of(logits); });
}

TEST_CASE("a fault at a file operation of a client that generates, or of its server, loses no token") {
  const std::string keys = path_of("text_keys"), state = path_of("text_state"), prompt = path_of("prompt");
  if (!fs::exists(kModel)) make_model(kModel, 1, {.layers = 1});
  write_file(prompt, "k0 v1 k2 v3 k0");
  output_of("compile --insecure --log-n 11 --for text --model " + kModel + " --out " + path_of("text"));
  const std::string client = "generate --insecure --client " + path_of("text.client") + " --program " +
                             path_of("text.program") + " --keys " + keys;
  output_of(client + " --tokens 0");
  fs::remove(keys + "/text.made");
  for (const Whose whose : {Whose::kCommand, Whose::kServer})
    check_faults(client + " --tokens 2 --prompt-file " + prompt + " --state " + state,
                 {state, keys + "/text.made"},
                 [&] {
                   const std::string out = bytes_of(path_of("out"));
                   return contains(out, "\ntext: ") ? text_in(out) : "";
                 },
                 {.step = 3, .whose = whose});
}

}  // namespace
}  // namespace psm::cmd
