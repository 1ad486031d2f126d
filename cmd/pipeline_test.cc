// Compiler, client and server as their users call them: separate processes that share nothing but files. In a small
// ring that offers no security, with a small model of random weights.
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "attention/files/checkpoint.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/wire/public_key_file.h"
#include "ckks/wire/testing/ciphertext_files.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/testing/test_pipeline.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/bpe_trainer.h"

namespace psm::cmd {
namespace {

const std::string kCheck = " --check " + kProgram;

std::string keygen_arguments(const std::string& folder, const std::string& client = kClient) {
  return "--client " + client + " --out " + folder + " --insecure";
}

// The pipeline and encrypted prompts, made once for all cases.
const std::string& keys() {
  static const bool once = [] {
    make_pipeline();
    const Outcome encrypted =
        must_run("encrypt " + client_flags() + "--sample 12 --out " + path_of("prompts.ct") + kCheck);
    return contains(encrypted.out, "their values stay inside the ranges of " + kProgram);
  }();
  CHECK(once);
  return kKeys;
}

std::string infer_arguments(const std::string& out) {
  keys();
  return infer_flags("prompts.ct", out);
}

// Another key pair for the same program, and what was said when it was made; made once.
const std::string kOtherKeys = path_of("other_keys");
const Outcome& other_keys() {
  keys();
  static const Outcome made =
      must_run("keygen " + keygen_arguments(kOtherKeys) + " --json " + path_of("tested.json"));
  return made;
}

// The answers, with the ledger of their run; made once.
const std::string& answers() {
  static const std::string file = [] {
    const Outcome inferred = must_run("infer " + infer_arguments("answer.ct") +
                                      " --backend scalar --ledger " + path_of("ledger.json"));
    CHECK(contains(inferred.err, "INSECURE"));
    CHECK(contains(inferred.out, "preparation"));
    return path_of("answer.ct");
  }();
  return file;
}

std::string decrypt_arguments(const std::string& in) { return client_flags() + "--in " + path_of(in); }

Outcome compare_answers(const std::string& in, const std::string& prompts) {
  return decrypt_and_compare(decrypt_arguments(in), kClient, kProgram, prompts);
}

std::string truncated(const std::string& from, const std::string& name, size_t size) {
  write_file(path_of(name), read_file(from, uint64_t{1} << 31).substr(0, size));
  return path_of(name);
}

TEST_CASE("the same model compiles to the same two files") {
  keys();
  compile(kModel, "again");
  for (const char* end : {".program", ".client"})
    CHECK(read_file(path_of(std::string("again") + end), 1 << 28) ==
          read_file(path_of(std::string("model") + end), 1 << 28));
}

TEST_CASE("an answer through four processes is the twin's, whatever kernels each of them uses") {
  answers();
  const Json found = must_agree(decrypt_arguments("answer.ct"), kClient, kProgram, "--sample 12");
  CHECK(found.at("positions", "json").integer("positions", 0, 1000) == 12 * 6);
  CHECK(found.at("argmax_agreement", "json").number("argmax_agreement") >= 0.99);
}

TEST_CASE("with no memory for encoded weights, and by other kernels, the answer is the same, bit for bit") {
  answers();
  const std::string page = path_of("ledger.html");
  const Outcome refused = run_command_line("infer " + infer_arguments("small.ct") + " --memory 1MB");
  const std::string before = "ciphertexts take ";
  const size_t at = refused.err.find(before) + before.size();
  REQUIRE(at >= before.size());
  const std::string least = refused.err.substr(at, refused.err.find('\n', at) - at);  // "57.1 MB"
  const double megabytes = std::stod(least) + 0.3;  // a process is not always as large
  must_run("infer " + infer_arguments("small.ct") + " --ledger " + page + " --memory " +
           std::to_string(megabytes) + least.substr(least.find(' ') + 1));
  CHECK(read_file(path_of("small.ct"), 1 << 28) == read_file(answers(), 1 << 28));
  CHECK(contains(read_file(page, 1 << 22), "By operation"));
}

TEST_CASE("answers that are far from the twin of the prompts given are a failure, with its likely reasons") {
  answers();
  const Outcome other = compare_answers("answer.ct", "--sample 12 --seed 2");
  CHECK(other.exit_code == 1);
  CHECK(contains(other.err, "error: the answers are not those of these prompts"));
  CHECK(other.out.starts_with("answers, a prediction for each scored position of each prompt:\nprompt 0: "));
  CHECK(json_in("answers.json").at("answers", "json").array("answers").size() == 12);
  CHECK(json_in("answers.json").at("predicted_logit_std", "json").number("predicted_logit_std") > 0);
  // The prompts themselves are no answers.
  check_refused("decrypt " + decrypt_arguments("prompts.ct"),
                "prompts.ct holds encrypted prompts; give answers");
  check_refused("infer " + replaced(infer_arguments("x.ct"), path_of("prompts.ct"), answers()),
                "answer.ct holds encrypted answers; give prompts");
}

TEST_CASE("a prompt of text goes through the tokenizer that the checkpoint keeps, and so does its answer") {
  keys();
  // The same model, with letters for its eight tokens; the keys of one program serve the other.
  const std::string model = path_of("letters.safetensors");
  attention::Checkpoint checkpoint = attention::load_checkpoint(kModel);
  write_notes(PromptCodec(nn::alphabet_of("abcdefgh")), checkpoint.notes, checkpoint.weights.config);
  attention::save_checkpoint(model, checkpoint);
  compile(model, "letters");
  const Json compared = answer_and_compare("letters", keys(), "--prompt aea");
  const Json json = json_in("answers.json");
  const std::string said = json.at("answers", "json").array("answers").at(0).string("answer");
  CHECK(said.size() == 3);
  CHECK(said.find_first_not_of("abcdefgh") == std::string::npos);
  CHECK(compared.at("positions", "json").integer("positions", 0, 100) == 3);
  check_refused("encrypt --client " + path_of("letters.client") + " --keys " + keys() +
                    " --insecure --prompt aex --out " + path_of("letters.ct"),
                "the text has \"x\"");
}

TEST_CASE("a published shape runs as a model does, and its prompts are numbers") {
  const std::string shape = path_of("shape"), folder = path_of("shape_keys");
  must_run("compile --shape pythia-70m --layers 1 --tokens 8 --log-n 12 --insecure --out " + shape);
  must_run("keygen " + keygen_arguments(folder, shape + ".client"));
  const Json compared = answer_and_compare("shape", folder, "--prompt \"7 50303 3\"");
  CHECK(compared.at("positions", "json").integer("positions", 0, 100) == 3);
  check_refused("encrypt --client " + shape + ".client --keys " + folder +
                    " --insecure --prompt \"7 50304\" --out " + path_of("shape.ct"),
                "'50304' is no token; they are 0 to 50303");
  // Its keys are of another ring than the model's.
  keys();
  check_refused("infer " + infer_flags("prompts.ct", "shape.answers", folder + "/evaluation.keys"),
                "made for other parameters");
  check_refused("encrypt " + client_flags(folder) + "--sample 12 --out " + path_of("shape.ct"),
                "made for other parameters");
}

TEST_CASE("under a dense secret, too, an answer through four processes is the twin's") {
  keys();
  const std::string folder = path_of("dense_keys");
  compile(kModel, "dense", kRing + " --secret dense");
  must_run("keygen " + keygen_arguments(folder, path_of("dense.client")));
  answer_and_compare("dense", folder, "--sample 12");
  CHECK(number_in(json_in("dense.json"), "params", "secret_hamming_weight") == 0);
}

TEST_CASE(
    "keys are tested before they are kept, and where they cannot be written in full none of them stays") {
  const Outcome& made = other_keys();
  for (const auto& file : std::filesystem::directory_iterator(kOtherKeys))
    CHECK_MESSAGE(made.out.find(file.path().string()) != std::string::npos, file.path().string());
  CHECK(number_in(json_in("tested.json"), "test_seconds") > 0);
  CHECK(contains(made.out, "tested: the public key and every evaluation key"));
  // A limit on the size of files, in blocks of 512 bytes, that the evaluation keys pass.
  const std::string full = path_of("full");
  const Outcome failed =
      run_command_line("keygen " + keygen_arguments(full), "trap '' XFSZ; ulimit -f 2000; ");
  CHECK(failed.exit_code == 1);
  CHECK(contains(failed.err, "File too large"));
  CHECK_FALSE(std::filesystem::exists(full));
}

TEST_CASE("the same prompts encrypted twice share no polynomial, nor do two key pairs share a seed") {
  keys();
  const std::unique_ptr<const ckks::Context> context =
      wire::read_context(keys() + "/public.key", wire::FileKind::kPublicKey);
  std::set<uint64_t> seen;
  size_t polynomials = 0;
  for (const std::string name : {"once.ct", "again.ct"}) {
    must_run("encrypt --client " + kClient + " --keys " + keys() + " --out " + path_of(name) +
             " --prompt \"k0 v0 k1 v1 k0\" --insecure");
    const wire::CiphertextFile file = wire::read_ciphertexts(path_of(name), *context, 100);
    for (const ckks::Ciphertext& c : file.ciphertexts) {
      for (const ckks::RnsPoly& poly : c.c)
        seen.insert(checksum64(poly.limb(0), poly.n() * sizeof(uint64_t)));
      polynomials += 2;
    }
  }
  CHECK(seen.size() == polynomials);
  other_keys();
  CHECK_FALSE(wire::read_public_key(keys() + "/public.key", *context).seed ==
              wire::read_public_key(kOtherKeys + "/public.key", *context).seed);
}

TEST_CASE(
    "the server's ledger has every instruction's level and seconds, and its memory is within a tenth of the "
    "plan's") {
  answers();
  const Json json = json_in("ledger.json");
  const double predicted = number_in(json, "memory", "predicted_bytes"),
               measured = number_in(json, "memory", "measured_bytes");
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
  for (const char* part : {"preparation", "pass"})
    for (const char* figure : {"predicted_seconds", "seconds"}) CHECK(number_in(json, part, figure) > 0);
  check_refused("infer " + infer_arguments("x.ct") + " --ledger " + path_of("ledger.txt"), ".html");
}

TEST_CASE("bad input is one clear line and exit code 2") {
  answers();
  make_model(path_of("other.safetensors"), 2);
  compile(path_of("other.safetensors"), "other");
  other_keys();
  make_model(path_of("narrow.safetensors"), 1, {.denominators = 0.01});
  compile(path_of("narrow.safetensors"), "narrow");
  const auto half = [](const std::string& file) { return std::filesystem::file_size(file) / 2; };
  const std::string cut_model = truncated(kModel, "truncated.safetensors", half(kModel)),
                    cut_client = truncated(kClient, "truncated.client", half(kClient)),
                    bad_constants = flipped(kProgram, path_of("constants.program"), 4096, 4096);

  std::string many;
  for (int i = 0; i < 80000; ++i) many += "k0 v0 k1 v1 k0\n";
  write_file(path_of("many.txt"), many);

  const std::string infer = infer_arguments("x.ct"), decrypt = decrypt_arguments("answer.ct"),
                    encrypt = "--client " + kClient + " --keys " + keys() + " --out " + path_of("x.ct") +
                              " --insecure ",
                    keygen = keygen_arguments(path_of("k")), other_client = path_of("other.client"),
                    other_program = path_of("other.program"),
                    narrow = "encrypt " + replaced(encrypt, kClient, path_of("narrow.client")) +
                             "--sample 12 --check " + path_of("narrow.program");
  REQUIRE(compare_answers("answer.ct", "--sample 12").exit_code == 0);
  const std::string compare = "--client " + kClient + " --logits " + path_of("logits") + " ";
  struct Case {
    const char* command;
    std::string arguments;
    const char* said;
  };
  const std::vector<Case> cases = {
      {"demo", "--promts 3", "unknown flag --promts; did you mean --prompts?"},
      {"demo", "--log-n 12", "offers no security"},
      {"compile", "--model " + cut_model + " --out " + path_of("x") + kRing, "truncated.safetensors"},
      {"compile", "--model " + kModel + " --out " + path_of("nowhere/x") + kRing, "cannot write"},
      {"infer", infer_arguments("never.ct") + " --backend abacus", "abacus"},
      {"demo", "--model /nowhere.safetensors", "/nowhere.safetensors"},
      {"demo", "--text /nowhere.txt --prompt x", "/nowhere.txt"},
      {"demo", "--save /nowhere/x", "cannot write"},
      {"demo", "--prompt k0", "asks nothing"},
      {"keygen", "--out x", "--client is needed"},
      {"keygen", keygen_arguments(keys()), "exists already"},
      {"keygen", replaced(keygen, " --insecure", ""), "offers no security"},
      {"keygen", replaced(keygen, kClient, kProgram), "it is no client file; take the NAME.client"},
      {"decrypt", replaced(decrypt, kClient, cut_client), "it was cut"},
      {"encrypt", encrypt, "exactly one of"},
      {"encrypt", encrypt + "--prompt \"k0 v9\"", "no symbol 'v9'"},
      {"encrypt", encrypt + "--prompt \"k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0 v0 k0\"",
       "17 tokens, the model takes 1 to 16; shorten it"},
      {"encrypt", encrypt + "--prompt \"\"", "--prompt is empty"},
      {"encrypt", encrypt + "--sample 2 --cut", "--cut is for a classifier"},
      {"encrypt", encrypt + "--prompts " + path_of("many.txt"), "split them"},
      {"encrypt", encrypt + "--sample 12 --check " + other_program,
       "is another program than the client file's"},
      {"decrypt", replaced(decrypt, kClient, other_client), "belongs to another program"},
      {"compare", compare + "--sample 12 --program " + other_program,
       "is another program than the client file's"},
      {"compare", replaced(compare, kClient, other_client) + "--sample 12 --program " + other_program,
       "its logits are of another program"},
      {"compare", compare + "--sample 3 --program " + kProgram, "other lengths"},
      {"compare", "--client " + kClient + " --sample 12 --program " + kProgram + " --logits " + kModel,
       "it holds no logits"},
      {"twin", "--program " + kProgram, "talks to a client through pipes"},
      {"infer", infer_flags("prompts.ct", "x.ct", kOtherKeys + "/evaluation.keys"), "another key pair"},
      {"infer", replaced(infer, kProgram, other_program), "belongs to another program"},
      {"infer", replaced(infer, kProgram, kClient),
       "it is not a program; make one with bazel run //cmd:compile"},
      {"infer", replaced(infer, kProgram, bad_constants), "its constants are damaged"},
      {"infer", replaced(infer, " --insecure", ""), "no security"},
      {"infer", infer_arguments("nowhere/x.ct"), "cannot write"},
      {"infer", infer_arguments("prompts.ct"), "--out and --in are the same"},
      {"polynomialise", "--model " + kModel + " --out " + path_of(""), "it is a folder"},
      {"polynomialise", "--model " + kModel + " --out " + kModel, "--out and --model are the same"},
      {"decrypt", replaced(decrypt, keys(), kOtherKeys), "another key pair"},
      {"train", "--out /proc/nowhere", "/proc/nowhere"},
      {"evaluate", "--model " + keys() + "/public.key", "public.key"},
  };
  for (const Case& c : cases) check_refused(message(c.command, " ", c.arguments), c.said);
  check_refused(narrow, "layer");
  // Who started the command may ignore the ends of children: a check that failed is seen all the same.
  const Outcome ignoring = run_command_line(narrow, "exec env --ignore-signal=CHLD ");
  CHECK(ignoring.exit_code == 2);
  CHECK(contains(ignoring.err, "layer"));
  for (const char* name : {"x.ct", "x.program", "x.client", "k"})
    CHECK_FALSE(std::filesystem::exists(path_of(name)));
}

TEST_CASE("held-out values that no bootstrap could take are counted when a model is made polynomial") {
  keys();
  const std::string narrow = path_of("narrow.safetensors"), out = path_of("narrow_poly.safetensors");
  attention::Checkpoint checkpoint = attention::load_checkpoint(kModel);
  attention::save_checkpoint(narrow, checkpoint);
  const Outcome whole = must_run("polynomialise --model " + narrow + " --margin 2 --out " + out);
  CHECK(contains(whole.out, " of the sequences: 0 values outside [-1, 1]"));
  // The state's range is what bootstraps scale it by; no polynomial's interval depends on it.
  for (double& range : checkpoint.ranges->residual) range /= 4;
  attention::save_checkpoint(narrow, checkpoint);
  const Outcome cut = must_run("polynomialise --model " + narrow + " --margin 2 --out " + out + " --json " +
                               path_of("narrow.json"));
  CHECK(contains(cut.out, "such prompts are refused, so repeat with `--margin "));
  CHECK(number_in(json_in("narrow.json"), "unseen_slot_program", "outside") > 0);
  CHECK(number_in(json_in("narrow.json"), "unseen_slot_program", "worst") > 1);
}

TEST_CASE("every command explains itself") {
  for (const char* command : {"demo", "train", "polynomialise", "evaluate", "compile", "keygen", "encrypt",
                              "infer", "decrypt", "compare", "generate", "tokenizer"}) {
    const Outcome outcome = run_command_line(message(command, " --help"));
    CHECK(outcome.exit_code == 0);
    CHECK(contains(outcome.out, "usage: bazel run //cmd:" + std::string(command)));
    CHECK(contains(outcome.out, "--json"));
  }
}

}  // namespace
}  // namespace psm::cmd
