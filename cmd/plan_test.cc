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

TEST_CASE("sequences in step are faster than one after the other, and each of them has as large a cache") {
  const std::string model = runfile("testdata/recall.safetensors"),
                    small = "plan --insecure --log-n 12 --model " + model;
  const std::string text =
      output_of(small + " --position 40 --sequences 8 --json " + path_of("plan.json") + " 2>/dev/null");
  CHECK(text.find("8 prompts in 1 ciphertext of 2048 slots") != std::string::npos);
  const Json json = parse_json(read_file(path_of("plan.json"), 1 << 20), "plan");
  const Json& found = json.at("sequences", "plan");
  const Json::Array& rows = found.at("in_step", "plan").array("plan");
  const auto number = [](const Json& of, const char* name) { return of.at(name, "plan").number(name); };
  const double alone = number(found.at("one_sequence", "plan"), "seconds");
  REQUIRE(rows.size() == 4);
  double crossover = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double count = number(rows[i], "sequences"), seconds = number(rows[i], "seconds");
    CHECK(count == 1 << i);
    CHECK(number(rows[i], "seconds_a_sequence") == doctest::Approx(seconds / count));
    CHECK(number(rows[i], "cache_ciphertexts") == count * number(rows[0], "cache_ciphertexts"));
    CHECK(number(rows[i], "cache_bytes") / count <= 1.3 * number(rows[0], "cache_bytes"));  // a level more
    if (crossover == 0 && seconds < count * alone) crossover = count;
  }
  CHECK(number(rows[3], "seconds") < 8 * alone / 2);
  CHECK(number(found, "crossover") == crossover);
  CHECK(number(json, "seconds") == number(rows[3], "seconds"));  // the last row is what is metered
  for (const auto& [arguments, why] : {std::pair{"--position 5 --sequences 3", "no power of two"},
                                       {"--sequences 4", "--position"},
                                       {"--position 5 --sequences 4 --encrypted-weights", "in the clear"},
                                       {"--position 5 --sequences 128", "2048 slots hold"}})
    check_refused(small + " " + arguments, why);
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
