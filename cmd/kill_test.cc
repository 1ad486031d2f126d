// A server that is killed again and again, by the signal that nothing can catch, and begun again each time:
// the same answer to the bit. In a small ring that offers no security.
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>

#include "ckks/base/files/file.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

constexpr int kKills = 20;
constexpr uint64_t kMaxAnswer = uint64_t{1} << 26;

void prepare() {
  if (std::filesystem::exists(path_of("prompts.ct"))) return;
  make_pipeline();
  must("encrypt", client_flags() + "--sample 12 --out " + path_of("prompts.ct"));
}

std::string infer(const std::string& out, const std::string& program = kProgram) {
  return "infer " + infer_flags("prompts.ct", out, kKeys + "/evaluation.keys", program);
}

// Whether the command was killed after so many seconds; else it succeeded before. In the foreground `timeout` waits until
// what it killed is gone, and with it that process's locks.
bool killed(const std::string& command, double seconds) {
  const int status = std::system(("timeout --foreground -s KILL " + std::to_string(seconds) + " " +
                                  located(command) + " >" + path_of("out") + " 2>&1")
                                     .c_str());
  REQUIRE(WIFEXITED(status));
  // 124: it ended just as its time ran out.
  if (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 124) return false;
  CAPTURE(read_file(path_of("out"), 1 << 20));
  REQUIRE(WEXITSTATUS(status) == 128 + 9);
  return true;
}

TEST_CASE("killed at twenty random moments and begun again, a run ends with the same answer, bit for bit") {
  prepare();
  const auto begin = std::chrono::steady_clock::now();
  const Outcome whole = must_run(infer("whole.ct"));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string expected = read_file(path_of("whole.ct"), kMaxAnswer);

  const std::string state = path_of("state"), resumed = infer("resumed.ct") + " --state " + state;
  TrainingRandom random(static_cast<uint64_t>(begin.time_since_epoch().count()));
  int kills = 0, saved = 0;
  // Some are killed after a block: were nine tenths of a run before the first one, 200 kills would meet none once in 10^9.
  while (kills < kKills || (saved == 0 && kills < 10 * kKills)) {
    if (killed(resumed, random.uniform(0.02, seconds))) {
      ++kills;
      saved += std::filesystem::exists(state + "/group-0");
      if (!std::filesystem::exists(path_of("resumed.ct"))) continue;
    }
    // Done, or killed after its answers were there: whole, never half-written.
    CHECK(read_file(path_of("resumed.ct"), kMaxAnswer) == expected);
    std::filesystem::remove(path_of("resumed.ct"));
  }
  CHECK(saved > 0);
  must_run(resumed);
  CHECK(read_file(path_of("resumed.ct"), kMaxAnswer) == expected);
  CHECK_FALSE(std::filesystem::exists(state));
  // What the killed processes left of the answer went with its next writer.
  for (const auto& entry : std::filesystem::directory_iterator(path_of("")))
    CHECK(entry.path().filename().string().find("resumed.ct.") == std::string::npos);
}

TEST_CASE("keys whose maker was killed are not there, and can be made again") {
  prepare();
  namespace fs = std::filesystem;
  const fs::path folder = path_of("killed_keys");
  const std::string keygen = "keygen --client " + kClient + " --out " + folder.string() + " --insecure";
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(run_command_line(keygen).exit_code == 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), {}); };
  CHECK(files() == 3);
  fs::remove_all(folder);

  TrainingRandom random(static_cast<uint64_t>(begin.time_since_epoch().count()));
  int begun = 0;
  for (int kills = 0; kills < kKills / 2 || (begun == 0 && kills < 10 * kKills); ++kills) {  // as above
    if (!killed(keygen, random.uniform(0.02, seconds))) fs::remove_all(folder);
    if (!fs::exists(folder)) continue;
    if (fs::exists(folder / "secret.key") || fs::exists(folder / ".new-keys.whole")) {
      // Killed after the pair was whole: it stays, and is moved to its place if it is not there yet.
      check_refused(keygen, "exists already");
      CHECK(files() == 3);
      fs::remove_all(folder);
      continue;
    }
    begun += fs::exists(folder / ".new-keys.part/secret.key");
    for (const auto& entry : fs::directory_iterator(folder))
      CHECK(entry.path().filename() == ".new-keys.part");
  }
  CHECK(begun > 0);
  REQUIRE(run_command_line(keygen).exit_code == 0);
  CHECK(files() == 3);
  CHECK_FALSE(fs::exists(folder / ".new-keys.part"));
}

TEST_CASE("what is interrupted says so and leaves nothing half made") {
  prepare();
  namespace fs = std::filesystem;
  const fs::path folder = path_of("interrupted_keys");
  const Outcome keys =
      run_command_line("keygen --client " + kClient + " --out " + folder.string() + " --insecure",
                       signalled("INT", "[ -e " + folder.string() + "/.new-keys.part/secret.key ]"));
  CHECK(keys.exit_code == 128 + SIGINT);
  CHECK(keys.err.ends_with("interrupted: no keys were kept; run the same command again to make them\n"));
  CHECK_FALSE(fs::exists(folder));

  const std::string state = path_of("interrupted_state"),
                    command = infer("interrupted.ct") + " --state " + state;
  const Outcome answers = run_command_line(command, signalled("TERM", "[ -e " + state + "/group-0 ]"));
  CHECK(answers.exit_code == 128 + SIGTERM);
  const std::string next = " groups of prompts, and the next up to instruction ";
  CHECK(answers.err.find("interrupted: of " + path_of("prompts.ct") + " 0 of ") != std::string::npos);
  CHECK(answers.err.find(next) != std::string::npos);
  CHECK(
      answers.err.ends_with(" are kept in " + state + "; run the same command again to go on from there\n"));
  CHECK_FALSE(fs::exists(path_of("interrupted.ct")));
  const Outcome last = must_run(command);
  CHECK(last.out.starts_with(path_of("prompts.ct") + " goes on from its state: 0 of "));
  CHECK(last.out.find(next) != std::string::npos);
  CHECK_FALSE(fs::exists(state));
}

TEST_CASE(
    "a program that changed between kill and resume is one line, and the state stays for the right one") {
  prepare();
  const std::string folder = path_of("kept"), state = " --state " + folder;
  // Until a block is on the disk.
  run_command_line(infer("first.ct") + state, signalled("KILL", "[ -e " + folder + "/group-0 ]"));
  REQUIRE(std::filesystem::exists(folder + "/group-0"));
  const std::string before = read_file(folder + "/group-0", kMaxAnswer);
  make_model(path_of("other.safetensors"), 2);
  compile(path_of("other.safetensors"), "other");
  check_refused(infer("first.ct", path_of("other.program")) + state, "belongs to another program");
  CHECK(read_file(folder + "/group-0", kMaxAnswer) == before);
  must_run(infer("first.ct") + state);
  run_command_line(infer("again.ct"));
  CHECK(read_file(path_of("first.ct"), kMaxAnswer) == read_file(path_of("again.ct"), kMaxAnswer));
}

}  // namespace
}  // namespace psm::cmd
