// Several processes for one prompt, or for a folder of prompts, as mpirun starts them. In a small ring that offers no
// security.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "cmd/testing/test_pipeline.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxAnswer = uint64_t{1} << 26;

bool has_mpi() {
  if (std::getenv("PSM_MPI") != nullptr) return true;
  say_skipped("this build has no MPI: bazel test --config=mpi //cmd:ranks_test");
  return false;
}

// A model, keys, and files of prompts, made once for all cases.
void prepare() {
  if (std::filesystem::exists(path_of("prompts"))) return;
  make_pipeline();
  make_model(path_of("other.safetensors"), 2);
  compile(path_of("other.safetensors"), "other");
  must_run("keygen --client " + kClient + " --out " + path_of("other_keys") + " --insecure");
  std::filesystem::create_directory(path_of("prompts"));
  for (int file = 0; file < 5; ++file)
    must_run("encrypt " + client_flags() + "--sample 2 --seed " + std::to_string(file) + " --out " +
             path_of("prompts/" + std::to_string(file)));
}

std::string infer(const std::string& in, const std::string& out, const std::string& program = "model.program",
                  const std::string& keys = "keys") {
  return "infer " + infer_flags(in, out, path_of(keys) + "/evaluation.keys", path_of(program));
}

// One process each, on however many processors there are. A run that hangs is ended, and fails.
const std::string kMpirun = "timeout -s KILL 100 mpirun --quiet --oversubscribe --allow-run-as-root -n ";

Outcome on_ranks(int ranks, const std::string& command) {
  return run_command_line(command, kMpirun + std::to_string(ranks) + " ");
}

std::string answers(const std::string& name) { return read_file(path_of(name), kMaxAnswer); }

const std::string& expected() {
  static const std::string bytes = [] {
    prepare();
    must_run(infer("prompts/0", "one.ct"));
    return answers("one.ct");
  }();
  return bytes;
}

// One line says which rank failed and why, and no rank goes on.
void check_failed_once(const Outcome& outcome, const std::string& why) {
  CAPTURE(outcome.err);
  CHECK(outcome.exit_code != 0);
  CHECK(outcome.exit_code != 124);
  CHECK(outcome.exit_code != 137);
  CHECK(count(outcome.err, "error: ") == 1);
  CHECK(outcome.err.find(why) != std::string::npos);
}

TEST_CASE("a build without MPI refuses to be one of several ranks") {
  if (std::getenv("PSM_MPI") != nullptr) return;
  const Outcome outcome = run_command_line("infer --help", "OMPI_COMM_WORLD_SIZE=2 ");
  CHECK(outcome.exit_code == 2);
  CHECK(outcome.err == "error: one of 2 ranks, but this build has no MPI; build with --config=mpi\n");
}

TEST_CASE("two, three and four ranks have the answers of one process, bit for bit") {
  if (!has_mpi()) return;
  for (const int ranks : {2, 3, 4}) {
    CAPTURE(ranks);
    const std::string out = "ranks.ct", json = path_of("ranks.json");
    expected();
    const Outcome outcome = on_ranks(ranks, infer("prompts/0", out) + "--link 1us,1000GbE --json " + json);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(answers(out) == expected());
    CHECK(count(outcome.err, "INSECURE") == 1);
    CHECK(outcome.out.find("peak memory") != std::string::npos);
    const Json report = json_in("ranks.json");
    REQUIRE(report.at("by_rank", "json").array("by_rank").size() == static_cast<size_t>(ranks));
    double sent = 0;
    for (const Json& rank : report.at("by_rank", "json").array("by_rank")) {
      CHECK(rank.at("peak_rss_bytes", "json").number("peak_rss_bytes") > 1e6);
      sent += rank.at("sent_bytes", "json").number("sent_bytes");
    }
    CHECK(sent > 0);
  }
}

TEST_CASE("a rank that is killed ends all, and any number of ranks goes on from the last block") {
  if (!has_mpi()) return;
  const std::string state = path_of("state");
  expected();
  for (const int then : {2, 1}) {
    CAPTURE(then);
    const std::string out = "resumed.ct";
    const std::string run = infer("prompts/0", out) + "--state " + state + " ";
    // The last process that mpirun started is its last rank. Without --quiet, mpirun says what became of it.
    const std::string line =
        "timeout -s KILL 100 mpirun --oversubscribe --allow-run-as-root -n 3 " + located(run) + " 2>" +
        path_of("err") + " >" + path_of("out") + " </dev/null & until [ -e " + state +
        "/group-0 ]; do sleep 0.005; done; kill -KILL $(pgrep -P $(pgrep -P $!) | tail -1); wait $!";
    // A run may end before the kill; then there is nothing to go on from, and another one is killed.
    int code = 0;
    std::chrono::steady_clock::duration took{};
    for (int attempt = 0; attempt < 10 && !std::filesystem::exists(state + "/group-0"); ++attempt) {
      std::filesystem::remove(path_of(out));
      const auto begin = std::chrono::steady_clock::now();
      code = std::system(("bash -c '" + line + "'").c_str());
      took = std::chrono::steady_clock::now() - begin;
    }
    const std::string said = read_file(path_of("err"), 1 << 20);
    CAPTURE(said);
    CHECK(code != 0);
    CHECK(took < std::chrono::seconds(60));
    CHECK(said.find("process rank 2") != std::string::npos);
    CHECK(said.find("exited on signal 9") != std::string::npos);
    REQUIRE(std::filesystem::exists(state + "/group-0"));
    CHECK_FALSE(std::filesystem::exists(path_of(out)));
    const Outcome outcome = then == 1 ? run_command_line(run) : on_ranks(then, run);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
    CHECK(outcome.out.find("goes on from its state") != std::string::npos);
    CHECK(answers(out) == expected());
  }
}

TEST_CASE("ranks that differ refuse to start, in one line") {
  if (!has_mpi()) return;
  expected();
  const std::string one = infer("prompts/0", "never.ct");
  const auto with = [&](const std::string& second) {
    return run_command_line(one + ": -n 1 " + located(second), kMpirun + "1 ");
  };
  check_failed_once(with(infer("prompts/0", "never.ct", "other.program")),
                    "error: rank 0: rank 1 has another --program than rank 0");
  check_failed_once(with(infer("prompts/0", "never.ct", "model.program", "other_keys")),
                    "error: rank 0: rank 1 has --keys of another key pair than rank 0");
  check_failed_once(with(infer("prompts/0", "never.ct", "none.program")), "error: rank 1: cannot read");
  check_failed_once(with(infer("prompts", "never.ct")),
                    "error: rank 0: rank 1 has a file in place of a folder, or the reverse, as --in");
  check_failed_once(with(one + "--link 40GbE"), "error: rank 0: rank 1 has another --link than rank 0");
  check_failed_once(on_ranks(2, infer("prompts/none", "never.ct")), "error: rank 0: cannot read");
  check_failed_once(on_ranks(2, one + "--digests " + path_of("digests")), "--digests is for one process");
  check_failed_once(on_ranks(2, one + "--link fast"), "--link fast is no link");
  check_failed_once(on_ranks(2, one + "--memory 1MB"), "--memory 1MB is too little");
  CHECK_FALSE(std::filesystem::exists(path_of("never.ct")));
}

TEST_CASE("ranks share the files of a folder, and what is wrong with one holds up no other") {
  if (!has_mpi()) return;
  expected();
  must_run(infer("prompts", "singly"));
  write_file(path_of("prompts/bad"), "no prompts");
  const Outcome some = on_ranks(3, infer("prompts", "shared"));
  check_failed_once(some, "error: rank 0: these files were not answered");
  CHECK(some.err.find("prompts/bad") != std::string::npos);
  std::filesystem::remove(path_of("prompts/bad"));
  for (int file = 0; file < 5; ++file)
    CHECK(answers("shared/" + std::to_string(file)) == answers("singly/" + std::to_string(file)));
  std::filesystem::remove(path_of("shared/3"));
  CHECK(on_ranks(3, infer("prompts", "shared")).exit_code == 0);
  CHECK(answers("shared/3") == answers("singly/3"));
  const Outcome done = on_ranks(3, infer("prompts", "shared"));
  CHECK(done.exit_code == 0);
  CHECK(done.out.find("has the answers of all files") != std::string::npos);
}

TEST_CASE("ranks without a file leave the folder of answers to the others") {
  if (!has_mpi()) return;
  expected();
  namespace fs = std::filesystem;
  fs::create_directories(path_of("one"));
  fs::copy_file(path_of("prompts/0"), path_of("one/0"));
  fs::create_symlink("link", path_of("one/link"));  // to itself: no file
  const Outcome outcome = on_ranks(3, infer("one", "new"));
  REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  CHECK(answers("new/0") == expected());
}

}  // namespace
}  // namespace psm::cmd
