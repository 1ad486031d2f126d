// //cmd:import, //cmd:evaluate on documents, and //cmd:train from an imported model, as their users call them.

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "attention/files/checkpoint.h"
#include "attention/files/hugging_face.h"
#include "attention/testing/small_models.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/shared_data.h"
#include "cmd/testing/test_commands.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::cmd {
namespace {

attention::ModelWeights tiny(std::string_view family) {
  attention::ModelConfig config = attention::small_family(family);
  if (family == "gpt-neox") config.rotary_fraction = 0.5;
  config.attention = attention::AttentionKind::kSoftmax;
  return attention::random_weights(config, 3);
}

// A folder as transformers writes it.
std::string written(const std::string& name, const attention::ModelWeights& weights) {
  attention::write_hugging_face(path_of(name), weights);
  return path_of(name);
}

TEST_CASE("a model of transformers becomes a checkpoint, and goes back into the same files") {
  for (const char* family : {"gpt-neox", "gpt2", "llama"}) {
    const std::string folder = written(family, tiny(family)), checkpoint = path_of("model.safetensors");
    const Json figures = figures_of("import --from " + folder + " --out " + checkpoint);
    CHECK(figures.at("architecture", "").string("") == family);
    CHECK(attention::load_checkpoint(checkpoint).weights.layers[1].w_down == tiny(family).layers[1].w_down);
    figures_of("import --from " + checkpoint + " --to hugging-face --out " + folder + "-back");
    for (const char* name : {"/model.safetensors", "/config.json"})
      CHECK(read_file(folder + "-back" + name, 1 << 20) == read_file(folder + name, 1 << 20));
  }
}

TEST_CASE("a checkpoint is known by what is in it, whatever its name") {
  attention::save_checkpoint(path_of("model.safetensors"), {tiny("llama"), {}, {}, {}});
  std::filesystem::copy_file(path_of("model.safetensors"), path_of("a_checkpoint"),
                             std::filesystem::copy_options::overwrite_existing);
  figures_of("import --from " + path_of("a_checkpoint") + " --out " + path_of("again.safetensors"));
  CHECK(read_file(path_of("again.safetensors"), 1 << 20) == read_file(path_of("model.safetensors"), 1 << 20));
}

TEST_CASE(
    "a checkpoint of a mean of tokens gets the classes that are asked for, or gives the mean, without "
    "scores") {
  attention::ModelConfig config = tiny("bert").config;
  config.pooler = false, config.mean_pooling = true;
  attention::Checkpoint mean{attention::random_weights(config, 3), {}, {}, {}};
  TaskScores scores;
  scores.trained.scored = 1;
  write_scores(scores, mean);
  const std::string from = path_of("mean.safetensors"), to = path_of("headed.safetensors");
  attention::save_checkpoint(from, mean);
  for (const auto& [asked, classes] : {std::pair{"", config.width}, {" --classes 4", 4}}) {
    must_run("import --from " + from + " --embedding --out " + to + asked);
    const attention::Checkpoint made = attention::load_checkpoint(to);
    CHECK(made.weights.config.classes == classes);
    CHECK(made.weights.config.mean_pooling);
    CHECK(read_scores(made).trained.scored == 0);
  }
}

TEST_CASE("a model whose logits are not finite, or all zero, is an error of the run") {
  const attention::ModelWeights weights = tiny("llama");
  attention::ModelWeights infinite = weights, overflowing = weights;
  for (float& value : infinite.unembedding) value = 3e38f;
  for (float& value : overflowing.layers[0].w_down) value = 3e38f;  // a norm's sum of squares overflows
  const std::string model = path_of("overflows.safetensors"), logits = path_of("logits.json");
  for (const attention::ModelWeights& bad : {infinite, overflowing}) {
    attention::save_checkpoint(model, {bad, {}, {}, {}});
    const Outcome outcome =
        run_command_line("evaluate --model " + model + " --logits " + logits + " --ids 3,0,6");
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.err.starts_with("error: the model's logits for input 0 are not finite or all zero"));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK_FALSE(std::filesystem::exists(logits));
  }
}

TEST_CASE("weights that only PyTorch reads are refused with what converts them") {
  const std::string folder = written("pickled", tiny("llama"));
  std::filesystem::rename(folder + "/model.safetensors", folder + "/pytorch_model.bin");
  check_refused("import --from " + folder + " --out " + path_of("x.safetensors"),
                "save_pretrained(FOLDER, safe_serialization=True)");
  // Its config.json would be replaced, although it has no model.safetensors, as a model in parts has none.
  check_refused("import --from " + folder + " --to hugging-face --out " + folder, "are the same");
}

TEST_CASE(
    "a tokenizer goes with the model and comes back; one that is not supported is left out on request") {
  attention::ModelConfig config = tiny("llama").config;
  config.vocab = 300;
  const std::string folder = written("spoken", attention::random_weights(config, 3)),
                    checkpoint = path_of("spoken.safetensors");
  const nn::Tokenizer tokenizer(nn::train_byte_bpe("the cat sat on the mat", {.vocab = 262}), "test");
  write_file(folder + "/tokenizer.json", nn::tokenizer_json(tokenizer.spec(), 0));
  const Json figures = figures_of("import --from " + folder + " --out " + checkpoint);
  CHECK(figures.at("tokenizer_tokens", "").integer("", 0, 1000) == tokenizer.vocab());
  figures_of("import --from " + checkpoint + " --to hugging-face --out " + folder + "-back");
  CHECK(read_file(folder + "-back/tokenizer.json", 1 << 20) ==
        read_file(folder + "/tokenizer.json", 1 << 20));

  check_refused("import --from " + folder + " --out " + folder + "/model.safetensors", "would replace");
  check_refused("import --from " + folder + "/model.safetensors --to hugging-face --out " + folder,
                "would replace");
  const std::string other = read_file(folder + "/tokenizer.json", 1 << 20);
  write_file(folder + "/tokenizer.json", replaced(other, "\"BPE\"", "\"Unigram\""));
  check_refused("import --from " + folder + " --out " + checkpoint, "import the model with --tokenizer none");
  const Json without = figures_of("import --from " + folder + " --tokenizer none --out " + checkpoint);
  CHECK(without.find("tokenizer_tokens") == nullptr);
}

TEST_CASE("what cannot be imported is refused in one line and leaves nothing") {
  const std::string folder = written("roberta", tiny("roberta")), out = path_of("refused.safetensors"),
                    to = " --out " + out;
  check_refused("import --from " + folder, "--out is needed");
  check_refused("import --from " + path_of("nowhere") + to, "nowhere");
  write_file(path_of("short.bin"), "abc");
  check_refused("import --from " + path_of("short.bin") + to, "is not a model of llama2.c");
  ::mkfifo(path_of("pipe").c_str(), 0600);
  check_refused("import --from " + path_of("pipe") + to, "no regular file");
  write_file(folder + "/model.safetensors", std::string(8, '\x7f'));
  check_refused("import --from " + folder + to, "is not a safetensors file");
  write_file(folder + "/config.json", "{}");
  check_refused("import --from " + folder + to, "model_type");
  CHECK_FALSE(std::filesystem::exists(out));
}

TEST_CASE(
    "stories260K: 1.276 nats a token, PowerSoftmax trained in softmax's place, "
    "and a text that goes on encrypted" *
    doctest::test_suite("external")) {
  const auto model = shared_data("model/stories260K.bin"), tokenizer = shared_data("model/tok512.bin"),
             text = shared_data("text/tinystories-5docs.txt");
  if (!model || !tokenizer || !text) return;
  const std::string checkpoint = path_of("stories.safetensors");
  const Json imported =
      figures_of("import --from " + *model + " --tokenizer " + *tokenizer + " --out " + checkpoint);
  CHECK(imported.at("tokenizer_tokens", "").integer("", 0, 1000) == 512);
  const Json scored = figures_of("evaluate --model " + checkpoint + " --text " + *text);
  CHECK(number_in(scored, "trained", "positions") == 1809);
  CHECK(number_in(scored, "trained", "nats_a_token") == doctest::Approx(1.27566).epsilon(1e-4));

  const Json trained =
      figures_of("train --from " + checkpoint + " --text " + *text + " --context 65 --out " +
                 path_of("powered") + " --power 8 --steps 40 --range-steps 20 --batch 4 --threads 1");
  const auto nats = [&](const char* name) {
    return trained.at("scores", "").at(name, "").at("cross_entropy", "").number("");
  };
  CHECK(nats("trained") < nats("replaced"));
  CHECK(nats("ranges") < nats("replaced"));
  const attention::Checkpoint powered =
      attention::load_checkpoint(path_of("powered") + "/power_softmax.safetensors");
  CHECK(powered.weights.config.attention == attention::AttentionKind::kPowerSoftmax);
  CHECK(tokenizer_of(powered) != nullptr);
  CHECK_FALSE(powered.ranges);
  const attention::Checkpoint final_model =
      attention::load_checkpoint(path_of("powered") + "/final.safetensors");
  CHECK(final_model.weights.config.form == attention::PowerForm::kLengthAgnostic);
  CHECK(tokenizer_of(final_model) != nullptr);
  REQUIRE(final_model.ranges);
  for (const attention::LayerRanges& layer : final_model.ranges->layers)
    CHECK(layer.denominator.hi <= 1000 * layer.denominator.lo);
  CHECK_FALSE(std::filesystem::exists(path_of("powered") + "/ranges.training"));
  // The last tenth of the text's bytes has 191 tokens: two windows, of the context's length.
  const Json held_out =
      figures_of("evaluate --model " + path_of("powered") + "/final.safetensors --text " + *text);
  CHECK(number_in(held_out, "trained", "positions") == 2 * 65);
  check_refused("evaluate --model " + checkpoint, "give it with --text");

  const std::string polynomial = path_of("polynomial.safetensors");
  must_run("polynomialise --model " + path_of("powered") + "/final.safetensors --text " + *text +
           " --tokens 64 --margin 3 --out " + polynomial);
  const Json forms = figures_of("evaluate --model " + polynomial + " --text " + *text);
  CHECK(number_in(forms, "polynomial", "positions") == 2 * 64);
  const std::string said = output_of("generate --insecure --log-n 11 --model " + polynomial +
                                     " --prompt \"Once upon a time\" --tokens 8 --compare");
  CHECK(contains(said, "the program's own text in the clear, the same: "));
}

TEST_CASE("a note that is no tokenizer is refused") {
  attention::Checkpoint checkpoint{tiny("llama"), {}, {}, {}};
  CHECK(tokenizer_of(checkpoint) == nullptr);
  for (const char* note : {"", "0", "zz", "04", "0300000000"}) {
    checkpoint.notes["prompts"] = note;
    CHECK_THROWS_AS(tokenizer_of(checkpoint), Error);
  }
}

}  // namespace
}  // namespace psm::cmd
