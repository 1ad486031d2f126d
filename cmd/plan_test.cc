// //cmd:plan as its users call it: what it prints adds up, and what it refuses.
#include <cstdlib>
#include <string>

#include "ckks/base/files/json_parser.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

// The first "1.29 GB" behind `name`, in bytes.
double bytes_behind(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  REQUIRE_MESSAGE(at != std::string::npos, name);
  char* end = nullptr;
  const double number = std::strtod(text.c_str() + at + name.size(), &end);
  return number * (end[1] == 'G' ? 1e9 : end[1] == 'M' ? 1e6 : 1e3);
}

TEST_CASE("100 tokens take 128 places, and the parts of the memory add up to its peak") {
  const std::string text =
      output_of("plan --insecure --log-n 13 --shape pythia-70m --tokens 100 2>/dev/null");
  CHECK(text.find("100 tokens in 128 places") != std::string::npos);
  double sum = 0;
  for (const char* part :
       {": keys ", ", the program ", ", bootstrap ", "plaintexts of one instruction ", "plaintexts kept "})
    sum += bytes_behind(text, part);
  CHECK(sum == doctest::Approx(bytes_behind(text, "peak memory              ")).epsilon(0.01));
  CHECK(bytes_behind(text, "(of ") > 2 * bytes_behind(text, "plaintexts kept "));
}

TEST_CASE("one token of a shape is predicted with what is kept of those before it") {
  const std::string small = "plan --insecure --log-n 12 --shape pythia-70m --layers 1 --tokens 64 ";
  const std::string text = output_of(small + "--position 40 --json " + path_of("plan.json") + " 2>/dev/null");
  CHECK(text.find("the token at position 40; ") != std::string::npos);
  const Json json = parse_json(read_file(path_of("plan.json"), 1 << 20), "plan");
  CHECK(json.at("prompts", "plan").number("prompts") == 1);
  CHECK(json.at("seconds", "plan").number("seconds") > 0);
  for (const auto& [arguments, why] : {std::pair{"--encrypted-weights", "give its --position"},
                                       {"--position 5 --prompts 2", "--prompts is for a whole pass"}})
    check_refused(small + arguments, why);
}

TEST_CASE("what cannot be predicted is refused before the machine is measured") {
  for (const auto& [arguments, why] : {std::pair{"--tokens 64", "--shape is needed"},
                                       {"--shape pythia", "unknown shape 'pythia'"},
                                       {"--shape gpt2 --layers 13", "has 12 layers, not 13"},
                                       {"--shape gpt2 --tokens 1", "--tokens"}})
    check_refused(std::string("plan ") + arguments, why);  // one line: no word of calibrating
}

}  // namespace
}  // namespace psm::cmd
