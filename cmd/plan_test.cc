// //cmd:plan as its users call it: what it prints adds up, and what it refuses.
#include <cstdlib>
#include <string>

#include "ckks/base/files/json.h"
#include "ckks/base/testing/runfile.h"
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
  const std::string text = output_of(
      "plan --insecure --log-n 13 --shape pythia-70m --tokens 100 --bootstrap-seconds 1 2>/dev/null");
  CHECK(text.find("100 tokens in 128 places") != std::string::npos);
  double sum = 0;
  for (const char* part :
       {": keys ", ", the program ", ", bootstrap ", "plaintexts of one instruction ", "plaintexts kept "})
    sum += bytes_behind(text, part);
  CHECK(sum == doctest::Approx(bytes_behind(text, "peak memory              ")).epsilon(0.01));
  CHECK(bytes_behind(text, "(of ") > 2 * bytes_behind(text, "plaintexts kept "));
}

TEST_CASE("one token of a model is metered with what is kept of those before it") {
  const std::string small =
      "plan --insecure --log-n 12 --model " + runfile("testdata/recall.safetensors") + " ";
  const std::string text = output_of(small + "--position 40 --json " + path_of("plan.json") + " 2>/dev/null");
  CHECK(text.find("the token at position 40; ") != std::string::npos);
  const Json json = parse_json(read_file(path_of("plan.json"), 1 << 20), "plan");
  CHECK(json.at("prompts", "plan").number("prompts") == 1);
  CHECK(json.at("seconds", "plan").number("seconds") > 0);
  for (const auto& [arguments, why] : {std::pair{"--encrypted-weights", "give its --position"},
                                       {"--position 5 --prompts 2", "--prompts is for a whole pass"}})
    check_refused(small + arguments, why);
}

TEST_CASE("what cannot be metered is refused before the machine is measured") {
  write_file(path_of("text.txt"), "this is no model, and it is long enough to be looked at");
  for (const auto& [arguments, why] :
       {std::pair{"--model " + path_of("text.txt"), "is not a safetensors file"},
        {"--model " + path_of("none.safetensors"), "cannot read"},
        {std::string("--shape pythia"), "unknown shape 'pythia'"},
        {std::string("--shape gpt2 --tokens 1"), "--tokens"}})
    check_refused("plan " + arguments, why);  // one line: no word of calibrating
}

}  // namespace
}  // namespace psm::cmd
