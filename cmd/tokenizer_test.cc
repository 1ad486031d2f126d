// //cmd:tokenizer, as its users call it.

#include <filesystem>
#include <string>

#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
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

TEST_CASE("a tokenizer is trained, encodes a file, and decodes it to the same bytes") {
  const std::string file = trained(), flag = " --tokenizer " + file;
  const auto tokenizer = nn::load_tokenizer(file);
  const std::string tokens = output("encode --text " + path_of("text") + flag);
  std::string expected;
  for (const int token : tokenizer->encode(kText))
    expected += (expected.empty() ? "" : " ") + std::to_string(token);
  CHECK(tokens == expected + "\n");
  write_file(path_of("tokens"), tokens);
  output("decode --text " + path_of("tokens") + flag + " --out " + path_of("decoded"));
  CHECK(read_file(path_of("decoded"), 1 << 16) == kText);
  const std::string ids = output("encode --string \"the\n\"" + flag);
  CHECK(output("decode --string \"" + ids + "\"" + flag) == "the\n");
  CHECK(output("encode --pieces --string \"\n\"" + flag).ends_with("\t\\n\n"));
}

TEST_CASE("statistics count bytes and tokens") {
  const std::string file = trained(), figures = path_of("figures.json");
  output("statistics --tokenizer " + file + " --text " + path_of("text") + " --json " + figures);
  const Json json = parse_json(read_file(figures, 1 << 16), "figures");
  const double tokens = static_cast<double>(nn::load_tokenizer(file)->encode(kText).size());
  CHECK(json.at("bytes", "").number("") == static_cast<double>(kText.size()));
  CHECK(json.at("tokens", "").number("") == tokens);
  CHECK(json.at("bytes_a_token", "").number("") == static_cast<double>(kText.size()) / tokens);
  CHECK(json.at("used", "").number("") <= tokens);
}

TEST_CASE("what makes no sense is refused in one line and leaves nothing") {
  const std::string file = trained(), text = path_of("text"), out = path_of("none.json");
  refused("weave", "use train, encode, decode or statistics");
  refused("train --text " + text, "--out is needed");
  refused("train --out " + out, "--text");
  refused("train --string '' --out " + out, "--string is empty");
  refused("train --text " + text + " --vocab 256 --out " + out, "give 257");
  refused("train --text " + text + " --special 'a,,b' --out " + out, "empty");
  refused("train --text " + path_of("nowhere") + " --out " + out, "nowhere");
  refused("encode --string a", "--tokenizer is needed");
  refused("encode --string a --text " + text + " --tokenizer " + file, "one of both");
  refused("encode --string a --tokenizer " + text, "text");
  refused("decode --string '1 9999' --tokenizer " + file, "'9999' is no token; they are 0 to");
  refused("decode --string '1 x' --tokenizer " + file, "'x' is no token");
  refused("decode --string -1 --tokenizer " + file, "'-1' is no token");
  refused("\"$(printf '\\2332J')\"", "\\x9b2J is not known");  // a terminal would act on it
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE("the command explains itself") {
  const std::string help = output("--help");
  CHECK(help.find("usage: bazel run //cmd:tokenizer") != std::string::npos);
  CHECK(help.find("statistics") != std::string::npos);
}

}  // namespace
}  // namespace psm::cmd
