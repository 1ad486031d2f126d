// The four commands as their users call them: separate processes that share nothing but files. In a small
// ring that offers no security, with a small model of random weights.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention/files/checkpoint.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/deployment/prompts.h"
#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"
#include "nn/text/alphabet.h"

namespace psm::cmd {
namespace {

const std::string kModel = path_of("model.safetensors");

std::string keygen_arguments(const std::string& folder) {
  return "--model " + kModel + " --out " + folder + kRing;
}

// Keys and encrypted prompts, made once for all cases.
const std::string& keys() {
  static const std::string folder = [] {
    make_model(kModel, 1);
    const Outcome made = run("keygen", keygen_arguments(path_of("keys")));
    REQUIRE_MESSAGE(made.exit_code == 0, made.err);
    const Outcome encrypted = run("encrypt", "--model " + kModel + " --keys " + path_of("keys") + " --out " +
                                                 path_of("prompts.ct") + " --sample 12 --insecure");
    REQUIRE_MESSAGE(encrypted.exit_code == 0, encrypted.err);
    return path_of("keys");
  }();
  return folder;
}

std::string infer_arguments(const std::string& out) {
  return "--model " + kModel + " --keys " + keys() + "/evaluation.keys --in " + path_of("prompts.ct") +
         " --out " + path_of(out) + " --insecure";
}

TEST_CASE("an answer through four processes is the twin's, whatever kernels each of them uses") {
  keys();
  const Outcome inferred = run("infer", infer_arguments("answer.ct") + " --backend scalar");
  REQUIRE_MESSAGE(inferred.exit_code == 0, inferred.err);
  CHECK(inferred.err.find("INSECURE") != std::string::npos);
  const Outcome decrypted =
      run("decrypt", "--model " + kModel + " --keys " + keys() + " --in " + path_of("answer.ct") +
                         " --sample 12 --insecure --json " + path_of("decrypt.json"));
  REQUIRE_MESSAGE(decrypted.exit_code == 0, decrypted.err);
  const Json json = parse_json(read_file(path_of("decrypt.json"), 1 << 20), "decrypt.json");
  const Json& comparison = json.at("encrypted_vs_twin", "json");
  CHECK(comparison.at("positions", "json").integer("positions", 0, 1000) == 12 * 6);
  CHECK(comparison.at("relative_rms", "json").number("relative_rms") < 0x1p-7);
  CHECK(comparison.at("relative_rms", "json").number("relative_rms") > 0);
  CHECK(comparison.at("argmax_agreement", "json").number("argmax_agreement") >= 0.99);
}

TEST_CASE("answers that are far from the twin of the prompts given are a failure, with its likely reasons") {
  keys();
  REQUIRE(run("infer", infer_arguments("answer.ct")).exit_code == 0);
  const Outcome other = run("decrypt", "--model " + kModel + " --keys " + keys() + " --in " +
                                           path_of("answer.ct") + " --sample 12 --seed 2 --insecure");
  CHECK(other.exit_code == 1);
  CHECK(other.err.find("error: the answers are not those of these prompts") != std::string::npos);
  // The prompts themselves are no answers.
  const Outcome prompts = run("decrypt", "--model " + kModel + " --keys " + keys() + " --in " +
                                             path_of("prompts.ct") + " --insecure");
  CHECK(prompts.exit_code == 2);
}

TEST_CASE("a prompt of text goes through the tokenizer that the checkpoint keeps, and so does its answer") {
  keys();
  // The same model, whose eight tokens are letters now; the server's file need not know.
  const std::string model = path_of("letters.safetensors"), prompts = path_of("letters.ct"),
                    answer = path_of("said.ct");
  attention::Checkpoint checkpoint = attention::load_checkpoint(kModel);
  checkpoint.notes.erase("recall");
  PromptCodec(std::make_shared<const nn::Alphabet>("abcdefgh")).write_notes(checkpoint);
  attention::save_checkpoint(model, checkpoint);
  const std::string client = "--model " + model + " --keys " + keys() + " --prompt aea --insecure";
  for (const auto& [command, arguments] : std::vector<std::pair<std::string, std::string>>{
           {"encrypt", client + " --out " + prompts},
           {"infer", "--model " + kModel + " --keys " + keys() + "/evaluation.keys --in " + prompts +
                         " --out " + answer + " --insecure"},
           {"decrypt", client + " --in " + answer + " --json " + path_of("said.json")}}) {
    const Outcome outcome = run(command, arguments);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
  const Json json = parse_json(read_file(path_of("said.json"), 1 << 20), "said.json");
  const std::string said = json.at("answers", "json").array("answers").at(0).string("answer");
  CHECK(said.size() == 3);
  CHECK(said.find_first_not_of("abcdefgh") == std::string::npos);
  CHECK(json.at("encrypted_vs_twin", "json").at("positions", "json").integer("positions", 0, 100) == 3);
  const Outcome unknown =
      run("encrypt", "--model " + model + " --keys " + keys() + " --prompt aex --insecure --out " + prompts);
  CHECK(unknown.exit_code == 2);
  CHECK(unknown.err.find("the text has \"x\"") != std::string::npos);
}

TEST_CASE("under a dense secret, too, an answer through four processes is the twin's") {
  keys();
  const std::string folder = path_of("dense"), prompts = path_of("dense.ct"),
                    answer = path_of("dense_answer.ct");
  const std::string model = "--model " + kModel + " --insecure ";
  for (const auto& [command, arguments] : std::vector<std::pair<std::string, std::string>>{
           {"keygen", keygen_arguments(folder) + " --secret dense"},
           {"encrypt", model + "--keys " + folder + " --out " + prompts + " --sample 12"},
           {"infer", model + "--keys " + folder + "/evaluation.keys --in " + prompts + " --out " + answer +
                         " --json " + path_of("dense_run.json")},
           {"decrypt", model + "--keys " + folder + " --in " + answer + " --sample 12 --json " +
                           path_of("dense.json")}}) {
    const Outcome outcome = run(command, arguments);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
  const Json ran = parse_json(read_file(path_of("dense_run.json"), 1 << 20), "dense_run.json");
  CHECK(ran.at("params", "json").at("secret_hamming_weight", "json").integer("weight", 0, 192) == 0);
  const Json json = parse_json(read_file(path_of("dense.json"), 1 << 20), "dense.json");
  CHECK(json.at("encrypted_vs_twin", "json").at("relative_rms", "json").number("relative_rms") < 0x1p-7);
}

TEST_CASE("the secret key's file is its owner's alone") {
  const auto mode = std::filesystem::status(keys() + "/secret.key").permissions();
  CHECK((mode & (std::filesystem::perms::group_all | std::filesystem::perms::others_all)) ==
        std::filesystem::perms::none);
}

TEST_CASE(
    "keys are tested before they are kept, and where they cannot be written in full none of them stays") {
  keys();
  const std::string folder = path_of("tested"), json_path = path_of("tested.json");
  const Outcome made = run("keygen", keygen_arguments(folder) + " --json " + json_path);
  REQUIRE_MESSAGE(made.exit_code == 0, made.err);
  const Json json = parse_json(read_file(json_path, 1 << 20), "tested.json");
  CHECK(json.at("tested_bootstrap", "json").truth("tested_bootstrap"));
  // A limit on the size of files, in blocks of 512 bytes, that the evaluation keys pass.
  const std::string full = path_of("full");
  const Outcome failed =
      run_command_line("keygen " + keygen_arguments(full), "trap '' XFSZ; ulimit -f 2000; ");
  CHECK(failed.exit_code == 1);
  CHECK(failed.err.find("File too large") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(full));
}

TEST_CASE("the same prompts encrypted twice share no polynomial, nor do two key pairs share a seed") {
  keys();
  const std::unique_ptr<const ckks::Context> context =
      wire::read_context(keys() + "/public.key", wire::FileKind::kPublicKey);
  std::set<uint64_t> seen;
  size_t polynomials = 0;
  for (const std::string name : {"once.ct", "again.ct"}) {
    const Outcome encrypted = run("encrypt", "--model " + kModel + " --keys " + keys() + " --out " +
                                                 path_of(name) + " --prompt \"k0 v0 k1 v1 k0\" --insecure");
    REQUIRE_MESSAGE(encrypted.exit_code == 0, encrypted.err);
    const wire::CiphertextFile file = wire::read_ciphertexts(path_of(name), *context, 100);
    for (const ckks::Ciphertext& c : file.ciphertexts) {
      for (const ckks::RnsPoly& poly : c.c)
        seen.insert(checksum64(poly.limb(0), poly.n() * sizeof(uint64_t)));
      polynomials += 2;
    }
  }
  CHECK(seen.size() == polynomials);
  REQUIRE(run("keygen", keygen_arguments(path_of("keys3"))).exit_code == 0);
  CHECK_FALSE(wire::read_public_key(keys() + "/public.key", *context).seed ==
              wire::read_public_key(path_of("keys3/public.key"), *context).seed);
}

TEST_CASE("sharing a bootstrapped answer, whose error has no bound, is refused and counts nothing") {
  keys();
  REQUIRE(run("infer", infer_arguments("unshared.ct")).exit_code == 0);
  const std::string record = read_file(keys() + "/sharing.json", 1 << 12);
  CHECK(record.find("\"shared\": 0") != std::string::npos);
  const std::string decrypt =
      "--model " + kModel + " --keys " + keys() + " --in " + path_of("unshared.ct") + " --insecure";
  const Outcome refused = run("decrypt", decrypt + " --share --queries 4 --precision 3");
  CHECK(refused.exit_code == 2);
  CHECK(refused.out.empty());
  CHECK(
      refused.err.find("error: not safe to share: the worst-case error of the result is beyond all bounds") !=
      std::string::npos);
  CHECK(read_file(keys() + "/sharing.json", 1 << 12) == record);
  const Outcome unshared = run("decrypt", decrypt);
  CHECK(unshared.exit_code == 0);
  CHECK(unshared.out.find("Do not share decrypted values") != std::string::npos);
  CHECK(run("decrypt", decrypt + " --share --queries 4").err.find("--precision is needed") !=
        std::string::npos);
  CHECK(run("decrypt", decrypt + " --queries 4").err.find("add --share") != std::string::npos);
}

TEST_CASE(
    "the server's ledger has every instruction's level and seconds, and its memory is within a tenth of the "
    "plan's") {
  keys();
  const std::string rows = path_of("ledger.json"), page = path_of("ledger.html");
  REQUIRE(run("infer", infer_arguments("ledgered.ct") + " --ledger " + page).exit_code == 0);
  CHECK(read_file(page, 1 << 22).find("The costliest instructions") != std::string::npos);
  const Outcome inferred = run("infer", infer_arguments("ledgered.ct") + " --ledger " + rows);
  REQUIRE_MESSAGE(inferred.exit_code == 0, inferred.err);
  CHECK(inferred.out.find("first pass") != std::string::npos);
  const Json json = parse_json(read_file(rows, 1 << 22), "ledger.json");
  const Json& memory = json.at("memory", "json");
  const double predicted = memory.at("predicted_bytes", "json").number("bytes"),
               measured = memory.at("measured_bytes", "json").number("bytes");
  CAPTURE(predicted);
  CAPTURE(measured);
  CHECK(measured < 1.1 * predicted);
  CHECK(measured > 0.9 * predicted);
  double seconds = 0;
  for (const Json& row : json.at("rows", "json").array("rows")) {
    seconds += row.at("seconds", "row").number("seconds");
    CHECK(row.at("level", "row").integer("level", 0, 27) <= 27);
    CHECK(row.find("max_abs") == nullptr);  // a server knows no ranges
  }
  CHECK(seconds > 0);
  CHECK(json.at("first_pass", "json").at("predicted_seconds", "json").number("seconds") >
        json.at("warm_pass", "json").at("predicted_seconds", "json").number("seconds"));
  const Outcome refused = run("infer", infer_arguments("ledgered.ct") + " --ledger " + path_of("ledger.txt"));
  CHECK(refused.exit_code == 2);
  CHECK(refused.err.find(".html") != std::string::npos);
}

TEST_CASE("an interrupted run goes on from its state, and a state of another run is refused") {
  keys();
  const std::string state = path_of("state");
  // Killed by a time limit somewhere in the middle; if it was done before, nothing is left to resume.
  const std::string binary = runfile("cmd/infer");
  const int status = std::system(("timeout -s KILL 3 " + binary + " " + infer_arguments("resumed.ct") +
                                  " --state " + state + " >/dev/null 2>&1")
                                     .c_str());
  CHECK(WIFEXITED(status));
  const Outcome resumed = run("infer", infer_arguments("resumed.ct") + " --state " + state);
  REQUIRE_MESSAGE(resumed.exit_code == 0, resumed.err);
  CHECK_FALSE(std::filesystem::exists(state));  // the folder goes with its files
  const Outcome decrypted =
      run("decrypt", "--model " + kModel + " --keys " + keys() + " --in " + path_of("resumed.ct") +
                         " --sample 12 --insecure --json " + path_of("resumed.json"));
  REQUIRE_MESSAGE(decrypted.exit_code == 0, decrypted.err);
  CHECK(decrypted.out.starts_with(
      "answers, a prediction for each scored position of each prompt:\nprompt 0: "));
  const Json json = parse_json(read_file(path_of("resumed.json"), 1 << 20), "resumed.json");
  CHECK(json.at("encrypted_vs_twin", "json").at("relative_rms", "json").number("relative_rms") < 0x1p-7);
  std::filesystem::create_directory(state);
  std::filesystem::copy_file(path_of("prompts.ct"), state + "/group-0");
  const Outcome refused = run("infer", infer_arguments("resumed.ct") + " --state " + state);
  CHECK(refused.exit_code == 2);
}

TEST_CASE("bad input is one clear line and exit code 2") {
  keys();
  make_model(path_of("other.safetensors"), 2);
  REQUIRE(run("keygen", "--model " + kModel + " --out " + path_of("keys2") + kRing).exit_code == 0);
  REQUIRE(run("keygen", "--model " + kModel + " --out " + path_of("keys12") + " --insecure --log-n 12")
              .exit_code == 0);
  make_model(path_of("narrow.safetensors"), 1, 0.01);
  REQUIRE(
      run("keygen", "--model " + path_of("narrow.safetensors") + " --out " + path_of("narrow_keys") + kRing)
          .exit_code == 0);
  attention::Checkpoint coarse =
      attention::load_checkpoint(kModel);  // the same weights and ranges, other polynomials
  coarse.polynomial->gelu_error *= 2;
  attention::save_checkpoint(path_of("coarse.safetensors"), coarse);
  const std::string model_bytes = read_file(kModel, 1 << 24);
  write_file(path_of("truncated.safetensors"), model_bytes.substr(0, model_bytes.size() / 2));
  std::string flipped = read_file(keys() + "/evaluation.keys", uint64_t{1} << 31);
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
  write_file(path_of("flipped.keys"), flipped);
  flipped.resize(flipped.size() / 3);
  write_file(path_of("truncated.keys"), flipped);

  std::string many;
  for (int i = 0; i < 80000; ++i) many += "k0 v0 k1 v1 k0\n";
  write_file(path_of("many.txt"), many);

  const std::string encrypt =
      "--model " + kModel + " --keys " + keys() + " --out " + path_of("x.ct") + " --insecure ";
  std::string other_key = infer_arguments("x.ct"), other_model = other_key, other_polynomials = other_key,
              damaged = other_key, cut = other_key, secure = other_key;
  replace(other_key, keys() + "/evaluation.keys", path_of("keys2/evaluation.keys"));
  replace(other_model, kModel, path_of("other.safetensors"));
  replace(other_polynomials, kModel, path_of("coarse.safetensors"));
  replace(damaged, keys() + "/evaluation.keys", path_of("flipped.keys"));
  replace(cut, keys() + "/evaluation.keys", path_of("truncated.keys"));
  replace(secure, " --insecure", "");
  struct Case {
    const char* command;
    std::string arguments;
    const char* said;
  };
  const std::vector<Case> cases = {
      {"demo", "--promts 3", "unknown flag --promts; did you mean --prompts?"},
      {"demo", "--log-n 12", "offers no security"},
      {"keygen", "--model " + kModel + " --out " + path_of("k") + " --backend abacus", "abacus"},
      {"demo", "--model /nowhere.safetensors", "/nowhere.safetensors"},
      {"demo", "--text /nowhere.txt --prompt x", "/nowhere.txt"},
      {"demo", "--save /nowhere/x", "cannot write"},
      {"demo", "--prompt k0", "asks nothing"},
      {"keygen", "--out x", "--model is needed"},
      {"keygen", keygen_arguments(keys()), "exists already"},
      {"keygen", "--model " + path_of("truncated.safetensors") + " --out " + path_of("k"),
       "truncated.safetensors"},
      {"keygen", "--model " + kModel + " --out " + path_of("k") + " --log-n 11", "offers no security"},
      {"encrypt", encrypt, "exactly one of"},
      {"encrypt", encrypt + "--prompt \"k0 v9\"", "no symbol 'v9'"},
      {"encrypt", encrypt + "--prompt \"k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0\"", "17 tokens"},
      {"encrypt", encrypt + "--prompt \"\"", "0 tokens"},
      {"encrypt", encrypt + "--prompts " + path_of("many.txt"), "split them"},
      {"encrypt",
       "--model " + path_of("narrow.safetensors") + " --keys " + path_of("narrow_keys") + " --out " +
           path_of("x.ct") + " --insecure --sample 12",
       "layer"},
      {"encrypt",
       "--model " + path_of("other.safetensors") + " --keys " + keys() + " --out " + path_of("x.ct") +
           " --insecure --sample 12",
       "another model"},
      {"decrypt",
       "--model " + kModel + " --keys " + path_of("keys12") + " --in " + path_of("answer.ct") + " --insecure",
       "other parameters"},
      {"infer", other_key, "another key pair"},
      {"infer", other_model, "another model"},
      {"infer", other_polynomials, "another model"},
      {"infer", damaged, "damaged"},
      {"infer", cut, "truncated"},
      {"infer", secure, "no security"},
      {"infer", infer_arguments("nowhere/x.ct"), "cannot write"},
      {"infer", infer_arguments("prompts.ct"), "--out and --in are the same"},
      {"polynomialise", "--model " + kModel + " --out " + path_of(""), "it is a folder"},
      {"polynomialise", "--model " + kModel + " --out " + kModel, "--out and --model are the same"},
      {"decrypt",
       "--model " + kModel + " --keys " + path_of("keys2") + " --in " + path_of("answer.ct") + " --insecure",
       "key"},
      {"plan", "--shape pythia-7m", "unknown shape"},
      {"plan", "", "exactly one of"},
      {"plan", "--params --shape pythia-70m", "goes without"},
      {"plan", "--params --secret middling", "sparse, dense, both"},
      {"plan", "--params --secret sparse --levels 30", "beyond the 1555 bits"},
      {"train", "--out /proc/nowhere", "/proc/nowhere"},
      {"evaluate", "--model " + keys() + "/public.key", "public.key"},
  };
  for (const Case& c : cases) {
    const Outcome outcome = run(c.command, c.arguments);
    INFO(c.command, " ", c.arguments, "\n", outcome.err);
    CHECK(outcome.exit_code == 2);
    const size_t line = outcome.err.find("error: ");
    REQUIRE(line != std::string::npos);
    CHECK(outcome.err.find(c.said, line) != std::string::npos);
    CHECK(outcome.err.find('\n', line) == outcome.err.size() - 1);
  }
  CHECK_FALSE(std::filesystem::exists(path_of("x.ct")));
}

TEST_CASE("too little memory is said before the work starts") {
  // One arena: each further one reserves 64 MB of address space, and how many there are depends on which
  // thread is first.
  keys();
  const std::string binary = runfile("cmd/infer");
  const int status = std::system(("ulimit -v 130000; MALLOC_ARENA_MAX=1 OMP_NUM_THREADS=1 " + binary + " " +
                                  infer_arguments("x.ct") + " >/dev/null 2>" + path_of("err"))
                                     .c_str());
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(read_file(path_of("err"), 1 << 20).find("of memory") != std::string::npos);
}

TEST_CASE("every command explains itself") {
  for (const char* command :
       {"demo", "train", "polynomialise", "evaluate", "plan", "keygen", "encrypt", "infer", "decrypt"}) {
    const Outcome outcome = run(command, "--help");
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out.find("usage: bazel run //cmd:" + std::string(command)) != std::string::npos);
    CHECK(outcome.out.find("--json") != std::string::npos);
  }
}

}  // namespace
}  // namespace psm::cmd
