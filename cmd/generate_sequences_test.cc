// Several texts generated in step by a client and a server in two processes, and what is refused.
#include <filesystem>
#include <string>

#include "ckks/base/files/json.h"
#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

const std::string kModel = path_of("model.safetensors"), kPrompts = path_of("prompts.txt");

std::string arguments(const std::string& rest) {
  return "generate_sequences --insecure --log-n 11 --keys " + path_of("keys") + " " + rest;
}

std::string of_model(const std::string& rest, const std::string& prompts = kPrompts) {
  return arguments("--model " + kModel + " --prompts " + prompts + " " + rest);
}

Json run(const std::string& rest) {
  output_of(of_model(rest + " --json " + path_of("run.json")));
  return parse_json(read_file(path_of("run.json"), 1 << 20), "run");
}

TEST_CASE("one command goes on with several texts as the clear model does with each") {
  make_model(kModel, 1);
  write_file(kPrompts, "k0 v1 k2 v3 k0\n\nk1 v2\nk3 v0 k1");
  const Json json = run("--tokens 6 --compare");
  const auto number = [](const Json& of, const char* name) { return of.at(name, "run").number(name); };
  CHECK(number(json, "sequences") == 4);
  CHECK(number(json, "positions") == 10);
  CHECK(number(json, "bootstraps_per_step") >= 1);
  CHECK(number(json, "seconds_per_token") == doctest::Approx(number(json, "seconds_per_step") / 3));
  CHECK(number(json, "cache_bytes") > 0);
  CHECK(number(json, "peak_rss_bytes") > number(json, "key_bytes"));
  const Json& agreement = json.at("agreement", "run");
  CHECK(number(agreement, "positions") == 30);
  CHECK(number(agreement, "top1") > 0.9);
  CHECK(number(agreement, "kl_mean") < 1e-4);
  CHECK(number(agreement, "max_abs") < 0.1);
  // Under the same keys, and the longest prompt alone, whose text is the same.
  const std::string first = json.at("texts", "run").array("texts")[0].string("text");
  write_file(path_of("one.txt"), "k0 v1 k2 v3 k0\n");
  output_of(of_model("--tokens 6 --sequences 4 --json " + path_of("one.json"), path_of("one.txt")));
  const Json one = parse_json(read_file(path_of("one.json"), 1 << 20), "one");
  CHECK(one.at("texts", "one").array("texts").size() == 1);
  CHECK(one.at("texts", "one").array("texts")[0].string("text") == first);
}

TEST_CASE("the server may compute on a device: the same texts") {
  const auto texts = [&](const std::string& rest) {
    return run("--tokens 2" + rest).at("texts", "run").dump(0);
  };
  CHECK(texts(" --device emulated") == texts(""));
}

TEST_CASE("sampled texts are those of their seed, each its own") {
  write_file(path_of("twice.txt"), "k0 v1 k2\nk0 v1 k2\n");
  const auto texts = [&](const std::string& rest) {
    output_of(of_model("--tokens 8 --sequences 4 --temperature 3 --json " + path_of("s.json") + rest,
                       path_of("twice.txt")));
    return parse_json(read_file(path_of("s.json"), 1 << 20), "s").at("texts", "s").dump(0);
  };
  const std::string once = texts(" --seed 4");
  CHECK(texts(" --seed 4") == once);
  CHECK(texts(" --seed 9") != once);
  const Json::Array both = parse_json(once, "s").array("s");
  CHECK(both[0].string("s") != both[1].string("s"));
}

TEST_CASE("what no server could do is refused in one line") {
  check_refused("generate_sequences --model " + kModel + " --prompts " + kPrompts, "--keys");
  check_refused(arguments("--model " + kModel), "--prompts");
  check_refused(arguments("--shape pythia-70m"), "--sequences");
  check_refused(arguments("--shape llama-7b --sequences 2"), "one of pythia-70m, pythia-1.4b");
  check_refused(arguments("--shape pythia-70m --layers 7 --sequences 2"), "has 6 layers, not 7");
  check_refused(of_model("--context 16"), "--context is for --shape");
  check_refused(of_model("--shape pythia-70m"), "exactly one");
  check_refused(of_model("--top-k 2"), "--temperature");
  check_refused(of_model("--sequences 2"), "3 prompts");
  check_refused(of_model("--device gpu"), "--device gpu is not known");
  check_refused(of_model("--sequences 3"), "power of two");
  check_refused(of_model("--tokens 13"), "17 places");
  check_refused(of_model("", path_of("none.txt")), "none.txt");
  write_file(path_of("empty.txt"), "\n\n");
  check_refused(of_model("", path_of("empty.txt")), "no prompt");
  // Keys of four sequences lack some of eight.
  const Outcome other = run_command_line(of_model("--sequences 8 --tokens 2"));
  CHECK(other.exit_code == 2);
  CHECK(other.err.find("lacks the key") != std::string::npos);
  // The keys of a secret that is elsewhere stay.
  const std::string secret = path_of("keys/secret.key"), away = path_of("secret.key");
  std::filesystem::rename(secret, away);
  check_refused(of_model("--tokens 2"), "evaluation.keys exists already");
  std::filesystem::rename(away, secret);
  output_of(of_model("--tokens 2"));
}

}  // namespace
}  // namespace psm::cmd
