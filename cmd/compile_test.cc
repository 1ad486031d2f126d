// //cmd:compile --dry-run as its users call it: what it prints adds up, and what it refuses.
#include <string>

#include "cmd/testing/test_commands.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

// The one entry point of a dry run, as machines see it.
Json predicted(const std::string& arguments) {
  const Json json = figures_of("compile --dry-run --insecure " + arguments);
  CHECK(number_in(json, "weight_file_bytes") > 0);
  CHECK(number_in(json, "key_file_bytes") > 0);
  return json.at("entries", "dry run").array("entries").back();
}

TEST_CASE("100 tokens take 128 places, and the parts of the memory add up to its peak") {
  const Json entry = predicted("--log-n 13 --shape pythia-70m --tokens 100");
  const auto bytes = [&](const char* name) { return number_in(entry, name); };
  CHECK(bytes("peak_bytes") ==
        doctest::Approx(bytes("run_bytes") + bytes("key_bytes") + bytes("table_bytes")));
  CHECK(bytes("run_bytes") > bytes("bootstrap_bytes"));
  CHECK(bytes("plaintext_bytes") > bytes("run_bytes"));  // not all are kept
  CHECK(entry.at("bootstraps", "entry").integer("bootstraps", 1, 1000) > 0);
  CHECK(bytes("seconds") > 0);
  CHECK(entry.find("results") == nullptr);
  const std::string text = read_file(path_of("out"), 1 << 20);
  CHECK(text.starts_with("pythia-70m\n"));
  const std::string tokens = text.substr(text.find("\n  tokens ") + 1);
  CHECK(tokens.substr(0, tokens.find('\n')).ends_with(" 128"));
  CHECK(contains(text, "; the others in each pass"));
  CHECK(contains(text, "layer 5 / feed-forward"));
}

TEST_CASE("one token of a shape is predicted, and weights that are ciphertexts besides it") {
  const std::string small = "--log-n 12 --shape pythia-70m --layers 1 --tokens 8 ";
  const Json token = predicted(small + "--for text"), secret = predicted(small + "--for encrypted-weights");
  CHECK(token.at("name", "entry").string("name") == "token");
  CHECK(number_in(token, "seconds") > 0);
  CHECK(token.find("encrypted_weights") == nullptr);
  CHECK(number_in(secret, "encrypted_weight_bytes") > 0);
  // Sparse bootstraps are compared with a full one of the same machine, planned or not.
  for (const Json& entry : {token, secret}) {
    const double mean =
        number_in(entry, "seconds") * number_in(entry, "bootstrap_share") / number_in(entry, "bootstraps");
    const double full = number_in(entry, "seconds") / number_in(entry, "full_bootstraps");
    CHECK(mean < 2 * full);
    CHECK(mean > full / 8);
  }
  // The paper's division takes more bootstraps.
  CHECK(number_in(predicted(small + "--paper"), "bootstraps") > number_in(predicted(small), "bootstraps"));
}

TEST_CASE("what cannot be predicted is refused before the machine is measured") {
  for (const auto& [arguments, why] :
       {std::pair{"--tokens 64 --dry-run", "exactly one of --model and --shape"},
        {"--shape pythia --dry-run", "unknown shape 'pythia'"},
        {"--shape gpt2 --layers 13 --dry-run", "has 12 layers, not 13"},
        {"--shape gpt2 --tokens 1 --dry-run", "--tokens"},
        {"--shape vit-base --tokens 64 --dry-run", "vit-base has 197 tokens"},
        {"--shape gpt2 --dry-run --out x", "exactly one of --out and --dry-run"},
        {"--shape gpt2 --dry-run --log-n 11", "offers no security"},
        {"--shape gpt2", "exactly one of --out and --dry-run"},
        {"--shape vit-base --out x", "the shape reads images"},
        {"--shape gpt2 --dry-run --for text --prompts 2", "--prompts is for whole passes"},
        {"--model x --dry-run", "--dry-run is for --shape"},
        {"--model x --paper --out x", "--paper is for --shape"},
        {"--model x --layers 2 --out x", "--layers is for --shape"}})
    check_refused(std::string("compile ") + arguments, why);  // one line: no word of calibrating
}

}  // namespace
}  // namespace psm::cmd
