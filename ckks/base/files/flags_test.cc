#include "ckks/base/files/flags.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "ckks/base/files/file.h"
#include "ckks/base/interruption.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/child.h"
#include "ckks/base/testing/runfile.h"

namespace psm {
namespace {

struct Command {
  Flags flags{"command [flags]", "A command."};
  const std::string& model = flags.text("model", "none", "a file");
  const int64_t& threads = flags.integer("threads", 2, 1, 64, "threads");
  const double& rate = flags.number("rate", 0.5, 0, 1, "a rate");
  const bool& fast = flags.truth("fast", true, "be fast");
  const std::string& out = flags.output("out", "a file");
  const std::string& folder = flags.output("folder", "a folder", Flags::Output::kFolder);

  void parse(std::vector<std::string> words) {
    words.insert(words.begin(), "command");
    std::vector<char*> pointers;
    for (auto& word : words) pointers.push_back(word.data());
    flags.parse(static_cast<int>(pointers.size()), pointers.data());
  }
};

TEST_CASE("flags keep their defaults until they are given") {
  Command command;
  command.parse({});
  CHECK(command.model == "none");
  CHECK(command.threads == 2);
  CHECK(command.rate == 0.5);
  CHECK(command.fast);
  CHECK_FALSE(command.flags.given("model"));
}

TEST_CASE("values follow after a space or an equals sign, truths may be negated") {
  Command command;
  command.parse({"--model", "m.bin", "--threads=4", "--rate", "0.25", "--no-fast"});
  CHECK(command.model == "m.bin");
  CHECK(command.threads == 4);
  CHECK(command.rate == 0.25);
  CHECK_FALSE(command.fast);
  CHECK(command.flags.given("model"));
}

std::string refusal(std::vector<std::string> words) {
  return refusal_of([&] { Command().parse(std::move(words)); }, 2);
}

// What in_child() says, and the standard error, of a process that runs this command, its standard output going to `out`.
struct Ended {
  int status;
  std::string err;
};
Ended run_in_process(const char* out, const std::function<int()>& body) {
  const std::string err = path_of("err");
  std::cout.flush();  // what doctest printed is not the child's to print
  const int status = in_child([&] {
    dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    dup2(open(out, O_WRONLY), STDOUT_FILENO);
    return run_command(body);
  });
  return {status, read_file(err, 1000)};
}

TEST_CASE("outputs that could not be written, or are inputs too, are refused before work begins") {
  namespace fs = std::filesystem;
  const fs::path folder = path_of("outputs");
  fs::create_directory(folder);
  const std::string file = folder / "file", link = folder / "link", fresh = folder / "fresh";
  write_file(file, "a model");
  fs::create_symlink(file, link);
  CHECK(refusal({"--out", fresh, "--folder", fresh + "s/more", "--model", file}).empty());
  CHECK(refusal({"--out", file}).empty());
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);  // nothing was made
  CHECK(refusal({"--out", folder}) == "cannot write " + folder.string() + ": it is a folder; name a file");
  CHECK(refusal({"--out", fresh + "/file"}) == "cannot write " + fresh + "/file: No such file or directory");
  CHECK(refusal({"--out="}) == "--out is empty; give it a value, or leave it out");
  CHECK(refusal({"--folder", file}) == "cannot write " + file + ": " + file + " is no folder");
  CHECK(refusal({"--out", link, "--model", file}) ==
        "--out and --model are the same, " + link + "; give --out another name");
  CHECK(refusal({"--out", fresh, "--model", fresh}).empty());  // a word, such as a family
  CHECK(refusal({"--out", fresh, "--folder", fresh}) ==
        "--out and --folder are the same, " + fresh + "; give --out another name");
}

TEST_CASE("an answer that standard output did not take is no success") {
  const auto print = [](int code) {
    return [code] {
      std::puts("an answer");
      return code;
    };
  };
  const Ended full = run_in_process("/dev/full", print(0));
  CHECK(full.status == 1);
  CHECK(full.err.starts_with("error: standard output did not take all"));
  CHECK(run_in_process("/dev/full", print(2)).status == 2);
  CHECK(run_in_process("/dev/full", [] {
          Command().parse({"--help"});
          return 0;
        }).status == 1);
  CHECK(run_in_process("/dev/null", print(0)).status == 0);
  const Ended closed = run_in_process("/dev/null", [] {
    int ends[2];
    if (pipe(ends) != 0 || close(ends[0]) != 0 || dup2(ends[1], STDOUT_FILENO) < 0) return 100;
    std::puts("an answer");
    std::fputs("went on\n", stderr);
    return 0;
  });
  CHECK(closed.status == 1);
  CHECK(closed.err.starts_with("went on\nerror: standard output did not take all"));
}

TEST_CASE("what an error quotes cannot move a terminal's cursor") {
  const std::string quoted = "a\x1b[2Jb", shown = "a\\x1b[2Jb";
  const auto printed = [](const auto& error) {
    return run_in_process("/dev/null", [&]() -> int { throw error; }).err;
  };
  CHECK(printed(std::runtime_error(quoted)) == "error: " + shown + "\n");
  CHECK(printed(std::filesystem::filesystem_error("", quoted, std::error_code()))
            .starts_with("error: cannot use " + shown));
}

TEST_CASE("an interruption that work looks for is said, and ends the process by its signal") {
  for (const int signal : InterruptionWatch::kSignals) {
    const Ended ended = run_in_process("/dev/null", [&] {
      const InterruptionWatch watch, inner;
      stop_if_interrupted("not yet");
      std::raise(signal);
      stop_if_interrupted("half is kept; go on");
      return 0;
    });
    CHECK(ended.status == -signal);
    CHECK(ended.err == "interrupted: half is kept; go on\n");
  }
  const Ended second = run_in_process("/dev/null", [] {
    const InterruptionWatch watch;
    std::raise(SIGINT);
    std::raise(SIGTERM);
    return 0;
  });
  CHECK(second.status == -SIGTERM);
  CHECK(second.err.empty());
  const Ended ignored = run_in_process("/dev/null", [] {
    std::signal(SIGHUP, SIG_IGN);
    const InterruptionWatch watch;
    std::raise(SIGHUP);
    return interrupted() ? 1 : 0;
  });
  CHECK(ignored.status == 0);
}

TEST_CASE("bad command lines are refused with one line that names the flag") {
  CHECK(refusal({"--modle", "x"}) == "unknown flag --modle; did you mean --model?");
  CHECK(refusal({"--zzzel", "x"}) == "unknown flag --zzzel; see --help");
  CHECK(refusal({"--nothing-like-it"}) == "unknown flag --nothing-like-it; see --help");
  CHECK(refusal({"--threads", "many"}) == "--threads takes a whole number from 1 to 64, not 'many'");
  CHECK(refusal({"--threads", "65"}) == "--threads takes a whole number from 1 to 64, not '65'");
  CHECK(refusal({"--threads", "4x"}) == "--threads takes a whole number from 1 to 64, not '4x'");
  CHECK(refusal({"--rate", "nan"}) == "--rate takes a number from 0 to 1, not 'nan'");
  CHECK(refusal({"--fast=maybe"}) == "--fast takes true or false, not 'maybe'");
  CHECK(refusal({"--model"}) == "--model needs a value; see --help");
  CHECK(refusal({"--model", "a", "--model", "b"}) == "--model is given twice");
  CHECK(refusal({"stray"}) == "unexpected 'stray'; see --help");
  CHECK(refusal({"--no-threads"}) == "unknown flag --no-threads; did you mean --threads?");
}

TEST_CASE("help lists every flag with its default") {
  Command command;
  const std::string help = command.flags.help();
  for (const char* text :
       {"--model", "--threads", "(default 2)", "--rate", "--fast", "--help", "--version"}) {
    CHECK(help.find(text) != std::string::npos);
  }
}

TEST_CASE("errors become exit codes") {
  CHECK(run_command([]() -> int { return 0; }) == 0);
  CHECK(run_command([]() -> int { throw Error("bad input"); }) == 2);
  CHECK(run_command([]() -> int { throw Error("failed", Error::Kind::kFailed); }) == 1);
}

}  // namespace
}  // namespace psm
