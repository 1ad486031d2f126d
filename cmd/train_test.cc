// //cmd:train and //cmd:evaluate as their users call them: what they refuse, with one clear line and exit
// code 2.

#include <cmath>
#include <filesystem>
#include <string>

#include "attention/files/checkpoint.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/testing/test_pipeline.h"
#include "cmd/training/training_run.h"
#include "nn/files/safetensors.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_json.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

const std::string kText = [] {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the quick brown fox ";
  return text;
}();

TEST_CASE("the model that lies here is read with the scores of its training, and keeps what it says") {
  const attention::Checkpoint model = attention::load_checkpoint(runfile("testdata/recall.safetensors"));
  const TaskScores scores = read_scores(model);
  CHECK(scores.softmax.accuracy() == 1);
  CHECK(scores.trained.accuracy() > 0.99);
  CHECK(scores.polynomial.accuracy() == 1);
  attention::save_checkpoint(path_of("kept.safetensors"), model);
  CHECK(read_file(path_of("kept.safetensors"), 1 << 20) ==
        read_file(runfile("testdata/recall.safetensors"), 1 << 20));
}

TEST_CASE("a polynomial model that is lost is read with its scores") {
  attention::Checkpoint model = attention::load_checkpoint(runfile("testdata/recall.safetensors"));
  TaskScores scores = read_scores(model);
  scores.polynomial.cross_entropy = std::nan("");
  write_scores(scores, model);
  CHECK(std::isnan(read_scores(model).polynomial.cross_entropy));
}

TEST_CASE("a text shorter than the context, an empty and a missing one are refused") {
  write_file(path_of("short.txt"), "shorter than a window of the context");
  write_file(path_of("empty.txt"), "");
  check_refused("train --out " + path_of("a") + " --text " + path_of("short.txt"),
                "too few for windows of 65");
  check_refused("train --out " + path_of("a") + " --text " + path_of("empty.txt"),
                "too few for windows of 65");
  check_refused("train --out " + path_of("a") + " --text " + path_of("missing.txt"), "cannot read");
}

TEST_CASE("an odd power and a power that is none are refused before anything is trained") {
  check_refused("train --out " + path_of("b") + " --power 3", "power = 3 is not an even number from 2 to 16");
  check_refused("train --out " + path_of("b") + " --power 1", "power = 1 is not an even number from 2 to 16");
  CHECK_FALSE(std::filesystem::exists(path_of("b")));
}

TEST_CASE("an encoder without a text is refused") {
  check_refused("train --out " + path_of("f") + " --family bert", "recall (give --text with --tokenizer)");
}

TEST_CASE("a score offset that is no number is refused") {
  for (const char* offset : {"some", "4x", "nan", "inf"})
    check_refused("train --out " + path_of("o") + " --score-offset " + offset,
                  "--score-offset takes none, learned or a number");
}

TEST_CASE("a checkpoint with a NaN, of an odd power or of another shape is refused") {
  const std::string path = path_of("model.safetensors");
  make_model(path, 1, {.layers = 1});
  const nn::Safetensors whole = nn::read_safetensors(path);
  CHECK(must_run("evaluate --model " + path).err == "");
  check_refused("evaluate --windows 2 --model " + path, "leave it out for this model");
  // Each is written anew with a checksum that fits.
  nn::Safetensors file = whole;
  file.tensors[0].values[0] = std::nanf("");
  nn::write_safetensors(path, file);
  const std::string why = path + ": tensor " + file.tensors[0].name + " holds a value that is not finite";
  check_refused("evaluate --model " + path, why);
  check_refused("train --from " + path + " --out " + path_of("c"), why);
  CHECK_FALSE(std::filesystem::exists(path_of("c")));
  const auto with = [&](const std::string& from, const std::string& to) {
    nn::Safetensors changed = whole;
    std::string& text = changed.metadata.at("config");
    text = replaced(text, from, to);
    nn::write_safetensors(path, changed);
  };
  with("\"power\":4", "\"power\":5");
  check_refused("evaluate --model " + path, "power = 5 is not an even number");
  with("\"width\":16", "\"width\":32");
  check_refused("evaluate --model " + path, "the file is of another model");
}

TEST_CASE("a full disk is one line and exit code 1") {
  const std::string folder = path_of("c"), text = path_of("fox.txt");
  write_file(text, kText);
  // In blocks of 512 bytes or 1 KiB: far less than a state needs.
  const Outcome outcome = run_command_line(
      "train --out " + folder + " --text " + text + " --steps 2 --layers 1 --width 64 --ffn 128 --context 16",
      "trap '' XFSZ; ulimit -f 100; ");
  CHECK(outcome.exit_code == 1);
  CAPTURE(outcome.err);
  CHECK(contains(outcome.err, "error: softmax: cannot write " + folder + "/softmax.training"));
  CHECK(contains(outcome.err, "no state was saved before"));
  CHECK(std::filesystem::is_empty(folder));
}

TEST_CASE(
    "a softmax checkpoint is continued with PowerSoftmax, and what comes out of that has its ranges "
    "minimised") {
  const std::string text = path_of("from.txt"),
                    small = " --text " + text + " --steps 3 --range-steps 2 --batch 4 --threads 1";
  write_file(text, kText);
  must_run("train --out " + path_of("scratch") + small +
           " --layers 1 --width 16 --heads 2 --ffn 16 --context 16");
  const std::string softmax = path_of("scratch/softmax.safetensors");
  const Json figures = figures_of("train --out " + path_of("continued") + small + " --from " + softmax);
  const attention::Checkpoint trained =
      attention::load_checkpoint(path_of("continued/power_softmax.safetensors"));
  CHECK(trained.weights.config.context == 16);
  CHECK(trained.weights.config.power == train::kPower);
  CHECK(trained.weights.layers[0].score_offset == std::vector<float>(2, train::kPower));
  CHECK(trained.weights.config.form == attention::PowerForm::kStable);
  const attention::Checkpoint last = attention::load_checkpoint(path_of("continued/final.safetensors"));
  CHECK(last.weights.config.form == attention::PowerForm::kLengthAgnostic);
  CHECK(last.ranges.has_value());
  const Json scores = figures.at("scores", "json");
  CHECK(number_in(scores, "softmax", "tokens") == 3 * 4 * 16);
  CHECK(number_in(scores, "trained", "tokens") == 6 * 4 * 16);
  CHECK(number_in(scores, "ranges", "tokens") == 8 * 4 * 16);
  CHECK(scores.find("replaced") != nullptr);
  CHECK_FALSE(std::filesystem::exists(path_of("continued/softmax.safetensors")));

  // The same weights, entering at the ranges: the same end. The score of a polynomial model made of them goes.
  const std::string power = path_of("continued/power_softmax.safetensors");
  attention::Checkpoint scored = trained;
  TaskScores with_polynomial = read_scores(scored);
  with_polynomial.polynomial = with_polynomial.trained;
  write_scores(with_polynomial, scored);
  attention::save_checkpoint(path_of("scored.safetensors"), scored);
  must_run("train --out " + path_of("ranged") + small + " --from " + path_of("scored.safetensors"));
  CHECK(read_file(path_of("ranged/final.safetensors"), 1 << 20) ==
        read_file(path_of("continued/final.safetensors"), 1 << 20));
  // Scores on other data are no scores of this run.
  with_polynomial.data = "other";
  write_scores(with_polynomial, scored);
  attention::save_checkpoint(path_of("scored.safetensors"), scored);
  const Json moved =
      figures_of("train --out " + path_of("moved") + small + " --from " + path_of("scored.safetensors"))
          .at("scores", "json");
  CHECK(moved.find("softmax") == nullptr);
  CHECK(moved.find("replaced") == nullptr);
  CHECK(moved.find("ranges") != nullptr);
  write_file(path_of("longer.txt"), kText + "the quick");
  const std::string final_model = path_of("continued/final.safetensors");
  const Json elsewhere = figures_of("polynomialise --model " + final_model + " --text " +
                                    path_of("longer.txt") + " --out " + path_of("longer"))
                             .at("scores", "json");
  CHECK(elsewhere.find("ranges") == nullptr);
  CHECK(elsewhere.find("polynomial") != nullptr);
  CHECK(read_scores(attention::load_checkpoint(path_of("longer"))).ranges.scored > 0);

  // The paper as printed, all in one flag, and what goes before it.
  const std::string paper = "train --paper" + small + " --from " + softmax + " --out ";
  must_run(paper + path_of("paper"));
  CHECK(attention::load_checkpoint(path_of("paper/final.safetensors")).weights.config.epsilon == 1e-3);
  must_run(paper + path_of("coarse") + " --epsilon 0.01");
  const std::string coarse = path_of("coarse/final.safetensors");
  CHECK(attention::load_checkpoint(coarse).weights.config.epsilon == 0.01);
  must_run("train" + small + " --from " + coarse + " --out " + path_of("kept"));
  CHECK(attention::load_checkpoint(path_of("kept/final.safetensors")).weights.config.epsilon == 0.01);
  must_run("polynomialise --paper --model " + path_of("paper/final.safetensors") + " --out " +
           path_of("paper/polynomial"));
  const attention::Checkpoint polynomial = attention::load_checkpoint(path_of("paper/polynomial"));
  CHECK(polynomial.polynomial->division == attention::DivisionForm::kGoldschmidt);
  check_refused("demo --paper --model " + path_of("paper/polynomial"), "--paper trains a model");

  // What cannot be continued.
  const std::string to = "train --out " + path_of("refused") + " --from ";
  check_refused(to + power, "needs the text that it was trained on");
  check_refused(to + power + " --text " + text + " --power 4", "was trained with 6");
  check_refused(to + power + " --text " + text + " --width 32", "decided by the model of --from");
  check_refused(to + power + " --text " + text + " --attention relu", "cannot be continued with relu");
  check_refused("train --out " + path_of("continued") + " --from " + path_of("continued/final.safetensors") +
                    " --text " + text,
                "give another --out");
  check_refused(to + softmax + " --text " + text + " --power 5", "power = 5 is not an even number");
  check_refused(to + text + " --text " + text, text);
  check_refused(to + path_of("nothing.safetensors") + " --text " + text, "cannot read");
  write_file(path_of("other.txt"), kText + "!");
  check_refused(to + power + " --text " + path_of("other.txt"),
                "the text has \"!\", and the tokenizer no token for it");
  check_refused("train --out " + path_of("refused") + " --valid " + text, "needs --text or --sentences");
  check_refused(to + power + " --text " + text + " --tokenizer " + text, "decided by the model of --from");
  CHECK_FALSE(std::filesystem::exists(path_of("refused")));
}

TEST_CASE("a model of a tokenizer's tokens keeps the tokenizer, and is scored in bits a byte") {
  const std::string text = path_of("tokens.txt"), tokenizer = path_of("tokenizer.json");
  write_file(text, kText);
  const nn::BpeSpec spec = nn::train_byte_bpe(kText, {.vocab = 270});
  write_file(tokenizer, nn::tokenizer_json(spec, 1));
  const std::string folder = path_of("tokens"),
                    small =
                        " --steps 2 --range-steps 2 --batch 2 --layers 1 --width 16 "
                        "--heads 2 --ffn 16 --context 8 --threads 1";
  must_run("train --out " + folder + " --text " + text + " --tokenizer " + tokenizer + small);
  const attention::Checkpoint checkpoint = attention::load_checkpoint(folder + "/final.safetensors");
  CHECK(checkpoint.weights.config.vocab == 270);
  const PromptCodec codec = codec_of(checkpoint.weights.config, checkpoint.notes);
  REQUIRE(codec.tokenizer());
  CHECK(codec.encode("the quick") == nn::Tokenizer(spec, "test").encode("the quick"));
  CHECK(codec.decode(codec.encode("the quick")) == "the quick");

  const std::string evaluate = "evaluate --model " + folder + "/final.safetensors --text " + text;
  CHECK(contains(output_of(evaluate + " --windows 3"), "bits a byte"));
  const Json scores = figures_of(evaluate + " --windows 3").at("trained", "json");
  CHECK(number_in(scores, "positions") == 3 * 8);
  // A token of this text stands for more than a byte, so that a uniform guess costs less than log2(270) bits.
  CHECK(number_in(scores, "bits_per_byte") > 0);
  CHECK(number_in(scores, "bits_per_byte") < 0.5 * std::log2(number_in(scores, "perplexity")));
  CHECK(number_in(figures_of(evaluate + " --windows 0"), "trained", "positions") > 3 * 8);
  attention::Checkpoint overflowing = checkpoint;
  for (float& value : overflowing.weights.unembedding) value = 3e38f;
  attention::save_checkpoint(path_of("overflows.safetensors"), overflowing);
  const Outcome lost =
      run_command_line("evaluate --model " + path_of("overflows.safetensors") + " --text " + text);
  CHECK(lost.exit_code == 1);
  CHECK(lost.err == "error: the model's logits are not finite, so it computes nothing; mend its weights\n");

  check_refused("train --out " + path_of("none") + " --tokenizer " + tokenizer, "needs --text");
  check_refused("train --out " + path_of("none") + " --text " + text + " --tokenizer " + text, text);
  write_file(path_of("bytes.txt"), kText + "\xff");
  check_refused(
      "train --out " + path_of("none") + " --text " + path_of("bytes.txt") + " --tokenizer " + tokenizer,
      "not UTF-8");
  CHECK_FALSE(std::filesystem::exists(path_of("none")));
  // Without a tokenizer any bytes can be learned.
  const Outcome bytes =
      must_run("train --out " + path_of("bytes") + " --text " + path_of("bytes.txt") + small);
  CHECK(bytes.err.starts_with("warning: " + path_of("bytes.txt") +
                              " does not look like a text: byte 4000 is not UTF-8"));
}

TEST_CASE("predictions that are no text together show where one ends") {
  nn::BpeSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  spec.tokens.emplace_back("ab");
  spec.merges = {{'a', 'b'}};
  const PromptCodec bpe(std::make_shared<const nn::Tokenizer>(spec, "test"));
  CHECK(bpe.list(std::vector<int>{'a', 256, '\n'}) == "a|ab|\\n");
  const PromptCodec recall(train::RecallOptions{});
  CHECK(recall.list(std::vector<int>{0, 1}) == "k0 k1");
}

TEST_CASE("the alphabet of a character model is read") {
  attention::Checkpoint checkpoint;
  checkpoint.weights.config.vocab = 3;
  write_notes(PromptCodec(nn::alphabet_of("ab\n")), checkpoint.notes, checkpoint.weights.config);
  const PromptCodec codec = codec_of(checkpoint.weights.config, checkpoint.notes);
  CHECK(codec.encode("ab\n") == std::vector<int>{1, 2, 0});
  CHECK(codec.symbol(0) == "\\n");
  CHECK(codec.symbol(2) == "b");
  CHECK(codec.list(std::vector<int>{1, 2, 0}) == "ab\\n");
  checkpoint.weights.config.vocab = 2;
  CHECK_REFUSED(codec_of(checkpoint.weights.config, checkpoint.notes),
                "the tokenizer has 3 tokens and the model 2");
  // A model may have more tokens than its tokenizer.
  checkpoint.weights.config.vocab = 4;
  CHECK(codec_of(checkpoint.weights.config, checkpoint.notes).decode(std::vector<int>{1, 3, 2}) == "ab");
  CHECK(codec_of(checkpoint.weights.config, checkpoint.notes).symbol(3) == "");
}

TEST_CASE("a training killed in the middle and begun again ends with the same bytes") {
  const std::string text = path_of("killed.txt"), whole = path_of("whole"), killed = path_of("killed");
  write_file(text, kText);
  const auto arguments = [&](const std::string& folder) {
    return "train --out " + folder + " --text " + text +
           " --steps 4000 --range-steps 10 --batch 4 --layers 1 --width 16 --heads 2 --ffn 16 --context 16 "
           "--threads 1";
  };
  // The child kills itself by the signal that nothing can catch, once its first state is on the disk.
  const std::string state = killed + "/softmax.training";
  run_command_line(arguments(killed), signalled("KILL", "[ -e " + state + " ]"));
  REQUIRE(std::filesystem::exists(state));
  REQUIRE_FALSE(std::filesystem::exists(killed + "/final.safetensors"));
  check_refused(arguments(killed) + " --seed 2", "of another model, data set or options");
  check_refused("train --from " + state + " --out " + path_of("refused") + " --text " + text,
                "is not a model of this program");
  // Interrupted later, at a step that saves nothing else.
  const Outcome interrupted =
      run_command_line(arguments(killed), signalled("INT", "grep -q power_softmax " + path_of("out")));
  CHECK(interrupted.exit_code == 128 + SIGINT);
  CHECK(contains(interrupted.out, "softmax        goes on from step "));
  CHECK(interrupted.err.starts_with("interrupted: power_softmax was saved after step "));
  CHECK(interrupted.err.ends_with("; run the same command again to go on from there\n"));
  const Outcome resumed = must_run(arguments(killed));
  CHECK(contains(resumed.out, "power_softmax  goes on from step "));
  for (const auto& entry : std::filesystem::directory_iterator(killed))
    CHECK(entry.path().extension() == ".safetensors");
  must_run(arguments(whole));
  for (const char* name : {"/softmax.safetensors", "/power_softmax.safetensors", "/final.safetensors"}) {
    CAPTURE(name);
    CHECK(read_file(killed + name, 1 << 20) == read_file(whole + name, 1 << 20));
  }
}

}  // namespace
}  // namespace psm::cmd
