// For tests that run a command like its users: in a process of its own, with files in the test's folder.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"

namespace psm::cmd {

struct Outcome {
  int exit_code;
  std::string out, err;
};

// "infer --in x" with the path of the command in place of its name; a name may have its folder, as
// "lessons/1_ring".
inline std::string located(const std::string& line) {
  const std::string name = line.substr(0, line.find(' '));
  for (const char* package : {"client/", "server/", "tools/", ""}) {
    const std::string path = runfile("cmd/") + package + name;
    if (std::filesystem::exists(path)) return path + line.substr(name.size());
  }
  FAIL("no command ", name);
  return line;
}

// Runs "train --out ..." and the like, after `before` in the same shell, with nothing to read.
inline Outcome run_command_line(const std::string& command, const std::string& before = "") {
  constexpr uint64_t kMaxOutput = 1 << 20;
  const int status = std::system(
      (before + located(command) + " >" + path_of("out") + " 2>" + path_of("err") + " </dev/null").c_str());
  const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);  // as shells have it
  return {code, read_file(path_of("out"), kMaxOutput), read_file(path_of("err"), kMaxOutput)};
}

// For `before`: the command is sent a signal as soon as the shell's condition holds.
inline std::string signalled(const std::string& signal, const std::string& condition) {
  return "(until " + condition + " || ! kill -0 $$ 2>/dev/null; do sleep 0.005; done; kill -" + signal +
         " $$ 2>/dev/null) & exec ";
}

// Runs a command that must succeed; output_of() is what it prints.
inline Outcome must_run(const std::string& command) {
  CAPTURE(command);
  Outcome outcome = run_command_line(command);
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  return outcome;
}
inline std::string output_of(const std::string& command) { return must_run(command).out; }

// The JSON of a file of this test; and that of the flag --json of a command that must succeed.
inline Json json_in(const std::string& name) { return parse_json(read_file(path_of(name), 1 << 22), name); }
inline Json figures_of(const std::string& command) {
  must_run(command + " --json " + path_of("figures.json"));
  return json_in("figures.json");
}

// A number at some depth: number_in(json, "params", "log_n").
template <typename... Keys>
double number_in(const Json& json, const char* key, Keys... inner) {
  if constexpr (sizeof...(inner) == 0)
    return json.at(key, "json").number(key);
  else
    return number_in(json.at(key, "json"), inner...);
}

// Checks that a command refuses bad input: exit code 2 after one line that begins with "error: " and contains
// `why`; or that it fails so with another code. Only the warning that a ring offers no security may come before it.
inline void check_refused(const std::string& command, const std::string& why, int exit_code = 2) {
  CAPTURE(command);
  const Outcome outcome = run_command_line(command);
  CHECK(outcome.exit_code == exit_code);
  CAPTURE(outcome.err);
  const size_t error = outcome.err.find("error: ");
  REQUIRE(error != std::string::npos);
  CHECK((error == 0 || outcome.err.starts_with("warning: INSECURE")));
  CHECK(std::count(outcome.err.begin() + static_cast<std::ptrdiff_t>(error), outcome.err.end(), '\n') == 1);
  CHECK(outcome.err.find(why, error) != std::string::npos);
}

// "k0 v1 ..." of the line "text: k0 v1 ..." that //cmd:generate prints.
inline std::string text_in(const std::string& out) {
  const size_t begin = out.find("\ntext: ");
  REQUIRE(begin != std::string::npos);
  return out.substr(begin + 7, out.find('\n', begin + 1) - begin - 7);
}

// Writes `from` to `to` with one bit of each of these bytes changed. Returns `to`.
inline std::string flipped(const std::string& from, const std::string& to, size_t begin, size_t count = 1) {
  std::string bytes = read_file(from, uint64_t{1} << 32);
  REQUIRE(begin + count <= bytes.size());
  for (size_t at = begin; at < begin + count; ++at) bytes[at] = static_cast<char>(bytes[at] ^ 4);
  write_file(to, bytes);
  return to;
}

}  // namespace psm::cmd
