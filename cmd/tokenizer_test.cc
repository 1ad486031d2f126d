// //cmd:tokenizer, as its users call it.

#include <filesystem>
#include <string>

#include "ckks/base/files/file.h"
#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/tokenizer_file.h"

namespace psm::cmd {
namespace {

const std::string kText = "the theatre, then the thé<|endoftext|>\nthe end of the text\n";

std::string output(const std::string& arguments) { return output_of("tokenizer " + arguments); }

void refused(const std::string& arguments, const std::string& why) {
  check_refused("tokenizer " + arguments, why);
}

// A trained tokenizer and its text.
std::string trained() {
  const std::string text = path_of("text"), file = path_of("tokenizer.json");
  write_file(text, kText);
  output("train --text " + text + " --vocab 280 --out " + file);
  return file;
}

TEST_CASE("a tokenizer is trained and encodes a file and a string") {
  const std::string file = trained(), flag = " --tokenizer " + file;
  const auto tokenizer = nn::load_tokenizer(file);
  const auto line = [&](const std::string& text) {
    std::string expected;
    for (const int token : tokenizer->encode(text))
      expected += (expected.empty() ? "" : " ") + std::to_string(token);
    return expected + "\n";
  };
  CHECK(output("encode --text " + path_of("text") + flag) == line(kText));
  CHECK(output("encode --string \"the\n\"" + flag) == line("the\n"));
  CHECK(tokenizer->decode(tokenizer->encode(kText)) == kText);
}

TEST_CASE("what makes no sense is refused in one line and leaves nothing") {
  const std::string file = trained(), text = path_of("text"), out = path_of("none.json");
  refused("weave", "use train or encode");
  refused("train --text " + text, "--out is needed");
  refused("train --out " + out, "--text");
  refused("train --string '' --out " + out, "--string is empty");
  refused("train --text " + text + " --vocab 256 --out " + out, "give 257");
  refused("train --text " + text + " --special 'a,,b' --out " + out, "empty");
  refused("train --text " + path_of("nowhere") + " --out " + out, "nowhere");
  refused("train --text " + text + " --tokenizer " + file + " --out " + out, "--tokenizer is for encode");
  refused("encode --string a --vocab 512 --tokenizer " + file, "--vocab and --special are for train");
  refused("encode --string a", "--tokenizer is needed");
  refused("encode --string a --text " + text + " --tokenizer " + file, "one of both");
  refused("encode --string a --tokenizer " + text, "text");
  refused("\"$(printf '\\2332J')\"", "\\x9b2J is not known");  // a terminal would act on it
  CHECK_FALSE(std::filesystem::exists(out));
}

}  // namespace
}  // namespace psm::cmd
