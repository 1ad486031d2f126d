// Classifiers of transformers as their users meet them: imported from a folder, scored, trained on with another
// attention, made polynomial.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "attention/files/checkpoint.h"
#include "attention/files/hugging_face.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "cmd/testing/test_commands.h"
#include "cmd/testing/test_tasks.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::cmd {
namespace {

constexpr const char* kShort = " --steps 4 --range-steps 2 --batch 4 --threads 1";

// RoBERTa's: what stands around a text comes first.
nn::BpeSpec tokenizer_spec() {
  return nn::train_byte_bpe(phrases(), {.vocab = 270, .special = {"<s>", "<pad>", "</s>", "<unk>"}});
}

// A folder as transformers writes it, of random weights.
void write_roberta(const std::string& folder) {
  attention::ModelConfig config = attention::preset("roberta");
  config.vocab = 270, config.context = 24, config.layers = 1, config.width = 16, config.heads = 2,
  config.ffn = 20, config.classes = 2;
  config.attention = attention::AttentionKind::kSoftmax;
  attention::write_hugging_face(folder, attention::random_weights(config, 3));
  write_file(folder + "/tokenizer.json", nn::tokenizer_json(tokenizer_spec(), 1));
}

// How many examples a command scores one form of a model on.
double examples(const std::string& evaluate, const char* form) {
  return number_in(figures_of(evaluate), form, "positions");
}

TEST_CASE("an imported RoBERTa is scored, trained on with a shorter context, and made polynomial") {
  const std::string folder = path_of("roberta"), model = path_of("roberta.safetensors"),
                    texts = path_of("phrases.tsv"), pairs = path_of("questions.tsv");
  write_roberta(folder);
  write_file(texts, phrases());
  write_file(pairs, text_pairs(false));
  const std::string imported = output_of("import --from " + folder + " --out " + model);
  CHECK(contains(imported, "classes       2"));
  CHECK(contains(imported, "with its attention replaced"));  // it runs encrypted so
  const std::string evaluate = "evaluate --model " + model + " --sentences " + texts;
  CHECK(contains(output_of(evaluate), "accuracy"));
  CHECK(examples(evaluate, "trained") == 12);

  const std::string out = path_of("tuned"), final_model = out + "/final.safetensors";
  const std::string said =
      output_of("train --from " + model + " --context 20 --sentences " + texts + " --out " + out + kShort);
  CHECK(contains(said, "softmax        as it is"));
  CHECK(attention::load_checkpoint(final_model).weights.config.context == 20);
  CHECK_FALSE(std::filesystem::exists(out + "/power_softmax.training"));
  output_of("polynomialise --model " + final_model + " --sentences " + texts + " --margin 3 --out " +
            path_of("poly.safetensors"));
  CHECK(examples("evaluate --model " + path_of("poly.safetensors") + " --sentences " + texts, "polynomial") ==
        12);
  const std::string windows = " --windows 5 --sentences " + texts + " --model " + final_model;
  check_refused("evaluate" + windows, "leave it out for this model");
  check_refused("polynomialise" + windows + " --out " + path_of("x"),
                "--windows are those of a held-out text");

  // QNLI's pairs, of the same tokens and classes.
  output_of("train --from " + model + " --sentences " + pairs + " --out " + path_of("qnli") + kShort);
  CHECK(examples("evaluate --model " + path_of("qnli/final.safetensors") + " --sentences " + pairs,
                 "trained") == 6);

  check_refused("evaluate --model " + model + " --text " + texts, "give them with --sentences");
  check_refused("train --from " + model + " --context 25 --sentences " + texts + " --out " + path_of("x"),
                "the model has learned 24 positions and none for 25 tokens");
  check_refused("train --from " + model + " --context 2 --sentences " + texts + " --out " + path_of("x"),
                "a context of 2 tokens has no room for a text");
  output_of("import --from " + folder + " --classes 3 --out " + path_of("three.safetensors"));
  check_refused(
      "train --from " + path_of("three.safetensors") + " --sentences " + texts + " --out " + path_of("x"),
      "import the model with --classes 2");
  CHECK_FALSE(std::filesystem::exists(path_of("x")));
}

TEST_CASE(
    "a BERT learns masked words, gets a fresh classifier, and is trained on pairs with each attention") {
  const std::string text = path_of("words.txt"), vocabulary = path_of("vocab.txt"),
                    pairs = path_of("pairs.tsv"), out = path_of("masked"),
                    start = path_of("start.safetensors");
  std::string words;
  for (int n = 0; n < 400; ++n) words += (n % 3 ? "a1" : "b2 .") + std::string(" ");
  write_file(text, words), write_file(vocabulary, std::string(kPieces) + "[MASK]\n"),
      write_file(pairs, text_pairs(true));
  const std::string train = "train --family bert --text " + text + " --context 16 --out ",
                    small = " --layers 1 --width 8 --heads 2 --ffn 8" + std::string(kShort);
  output_of(train + out + " --tokenizer " + vocabulary + small);
  const attention::ModelConfig masked =
      attention::load_checkpoint(out + "/power_softmax.safetensors").weights.config;
  CHECK_FALSE(masked.causal);
  CHECK(masked.separator == 3);
  output_of("evaluate --model " + out + "/softmax.safetensors --text " + text);
  check_refused(train + path_of("x") + small, "needs a tokenizer with [MASK]");
  check_refused(
      "train --from " + out + "/softmax.safetensors --sentences " + pairs + " --out " + path_of("x"),
      "needs the text that it was trained on");

  for (const std::string attention : {"softmax", "power_softmax"}) {
    output_of("import --from " + out + "/" + attention + ".safetensors --classes 2 --out " + start);
    const std::string same = path_of("same_" + std::string(attention)),
                      copy = same + "/" + attention + ".safetensors";
    std::filesystem::create_directory(same);
    std::filesystem::copy_file(start, copy);
    check_refused(
        "train --from " + copy + " --attention " + attention + " --sentences " + pairs + " --out " + same,
        "the training would replace");
    const std::string said =
        output_of("train --from " + start + " --attention " + attention + " --sentences " + pairs +
                  " --valid " + pairs + " --out " + path_of(attention) + kShort);
    CHECK(contains(said, "  " + attention + " "));
    CHECK(contains(said, "60 held out"));
    CHECK_FALSE(contains(said, "as it is"));
    const std::string tuned = path_of(attention) + "/" + attention + ".safetensors";
    CHECK(attention::load_checkpoint(tuned).weights.config.classes == 2);
    CHECK(examples("evaluate --model " + tuned + " --sentences " + pairs + " --valid " + pairs, "trained") ==
          60);
  }
  output_of("polynomialise --model " + path_of("power_softmax/final.safetensors") + " --sentences " + pairs +
            " --out " + path_of("pairs.safetensors"));
}

TEST_CASE("an encoder of which transformers would count other positions is not written for it") {
  write_file(path_of("own.tsv"), phrases());
  output_of("train --attention softmax --layers 1 --width 8 --heads 2 --ffn 8 --context 32 --sentences " +
            path_of("own.tsv") + " --out " + path_of("own") + kShort);
  check_refused(
      "import --from " + path_of("own/softmax.safetensors") + " --to hugging-face --out " + path_of("y"),
      "transformers takes it for padding");
  CHECK_FALSE(std::filesystem::exists(path_of("y")));
  const std::string folder = path_of("padded");
  write_roberta(folder);
  const std::string config = read_file(folder + "/config.json", 1 << 16);
  write_file(folder + "/config.json", replaced(config, "\"pad_token_id\": 1", "\"pad_token_id\": 2"));
  check_refused("import --from " + folder + " --out " + path_of("z"), "token 2 stands at an end");
}

TEST_CASE("logits are written for texts, pairs, token numbers and images, those of the reference") {
  const std::string folder = path_of("logits"), model = path_of("logits.safetensors"),
                    json = path_of("l.json");
  write_roberta(folder);
  output_of("import --from " + folder + " --out " + model);
  write_file(path_of("lines.txt"), "g1 g2\r\nb3\tb4 b5\n");
  output_of("evaluate --model " + model + " --prompts " + path_of("lines.txt") + " --logits " + json);
  const attention::ModelWeights weights = attention::load_checkpoint(model).weights;
  const nn::Tokenizer tokenizer(tokenizer_spec(), "test");
  const Json written = json_in("l.json");
  const Json::Array& texts = written.at("examples", "json").array("examples");
  REQUIRE(texts.size() == 2);
  for (size_t n = 0; n < texts.size(); ++n) {
    std::vector<int> tokens;
    for (const Json& token : texts[n].at("tokens", "json").array("tokens"))
      tokens.push_back(static_cast<int>(token.integer("token", 0, 300)));
    std::vector<int> expected = {0};
    for (const char* part :
         n == 0 ? std::vector<const char*>{"g1 g2"} : std::vector<const char*>{"b3", "b4 b5"}) {
      if (expected.size() > 1) expected.insert(expected.end(), {2, 2});
      for (const int token : tokenizer.encode(part)) expected.push_back(token);
    }
    expected.push_back(2);
    CHECK(tokens == expected);
    const std::vector<double> logits = attention::reference_forward(weights, tokens).logits;
    const Json::Array& rows = texts[n].at("trained", "json").array("rows");
    REQUIRE(rows.size() == 1);
    for (size_t c = 0; c < logits.size(); ++c)
      CHECK(std::abs(rows[0].array("row")[c].number("logit") - logits[c]) < 1e-5);
  }
  output_of("evaluate --model " + model + " --ids 0,5,9,2 --logits " + json);
  CHECK(json_in("l.json").at("examples", "json").array("examples")[0].at("tokens", "json").dump(0) ==
        "[0,5,9,2]");
  check_refused("evaluate --model " + model + " --ids 0,x --logits " + json, "'x' is no token");
  check_refused("evaluate --model " + model + " --ids 0,270 --logits " + json, "270");
  check_refused("evaluate --model " + model + " --logits " + json, "--logits takes one input");
  check_refused("evaluate --model " + model + " --prompt g1", "are for --logits");
  check_refused("evaluate --model " + model + " --prompt g1 --logits " + json + " --sentences " + model,
                "--logits computes no score");
}

TEST_CASE("an imported ViT is scored, trained on and made polynomial, and goes back to transformers") {
  const std::string images = path_of("images.idx"), labels = path_of("labels.idx"), folder = path_of("vit"),
                    model = path_of("vit.safetensors"), json = path_of("v.json");
  write_halves(images, labels);
  const std::string data = " --images " + images + " --labels " + labels;
  attention::ModelConfig config = attention::preset("vit");
  config.context = 5, config.patch_inputs = 2 * 14 * 14, config.layers = 1, config.width = 16,
  config.heads = 2, config.ffn = 20, config.classes = 3;
  config.attention = attention::AttentionKind::kSoftmax;
  attention::write_hugging_face(folder, attention::random_weights(config, 3),
                                attention::PatchGrid{28, 28, 14, 2});
  output_of("import --from " + folder + " --out " + model);
  CHECK(examples("evaluate --model " + model + data, "trained") == 4);
  output_of("import --from " + model + " --to hugging-face --out " + folder + "-back");
  for (const char* name : {"/model.safetensors", "/config.json"})
    CHECK(read_file(folder + "-back" + name, 1 << 20) == read_file(folder + name, 1 << 20));

  output_of("import --from " + folder + " --classes 2 --out " + model);
  output_of("train --from " + model + data + " --out " + path_of("vit_tuned") + kShort);
  output_of("polynomialise --model " + path_of("vit_tuned/final.safetensors") + data + " --margin 3 --out " +
            path_of("vit_poly.safetensors"));
  output_of("evaluate --model " + path_of("vit_poly.safetensors") + " --prompts " + images +
            " --sample 3 --logits " + json);
  const Json written = json_in("v.json");
  const Json::Array& examples = written.at("examples", "json").array("examples");
  REQUIRE(examples.size() == 3);
  CHECK(examples[2].at("polynomial", "json").array("rows")[0].array("row").size() == 2);
  CHECK(examples[2].find("tokens") == nullptr);
  check_refused("train --from " + model + data + " --context 4 --out " + path_of("x"), "that of its images");
  check_refused("evaluate --model " + model + " --ids 1,2 --logits " + json, "the model reads images");
}

}  // namespace
}  // namespace psm::cmd
