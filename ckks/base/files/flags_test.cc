#include "ckks/base/files/flags.h"

#include <initializer_list>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

struct Command {
  Flags flags{"command [flags]", "A command."};
  const std::string& model = flags.text("model", "none", "a file");
  const int64_t& threads = flags.integer("threads", 2, 1, 64, "threads");
  const double& rate = flags.number("rate", 0.5, 0, 1, "a rate");
  const bool& fast = flags.truth("fast", true, "be fast");

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

TEST_CASE("bad command lines are refused with one line that names the flag") {
  const auto refusal = [](std::vector<std::string> words) -> std::string {
    Command command;
    try {
      command.parse(std::move(words));
    } catch (const Error& error) {
      CHECK(error.exit_code() == 2);
      return error.what();
    }
    return "accepted";
  };
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
