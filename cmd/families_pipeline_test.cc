// Every family as users meet it: trained by //cmd:train, made polynomial, compiled, and its answers taken through the
// processes of client and server, in a small ring that offers no security.
#include <filesystem>
#include <string>
#include <vector>

#include "attention/files/checkpoint.h"
#include "attention/files/hugging_face.h"
#include "ckks/base/files/file.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/testing/test_pipeline.h"
#include "cmd/testing/test_tasks.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/bpe_trainer.h"

namespace psm::cmd {
namespace {

constexpr const char* kSmall = " --layers 1 --width 16 --heads 2 --ffn 20 ";
constexpr const char* kShort = " --steps 20 --range-steps 10 --batch 8 --threads 1 ";

// Trains, makes polynomial, and compares the encrypted answers with the twin's. `prompts`: which. `embeds`: a classifier
// of the mean becomes an embedding.
void follow(const std::string& family, const std::string& train, const std::string& prompts, int positions,
            bool embeds = false) {
  CAPTURE(family);
  const std::string folder = path_of(family), model = folder + "/poly.safetensors", keys = folder + "/keys";
  must_run("train --out " + folder + train + kShort);
  must_run("polynomialise --model " + folder + "/final.safetensors --out " + model + " --margin 3");
  if (embeds) must_run("import --from " + model + " --embedding --out " + folder + "/embedding.safetensors");
  compile(embeds ? folder + "/embedding.safetensors" : model, family + "/poly");
  must_run("keygen --insecure --client " + folder + "/poly.client --out " + keys);
  const Json compared = answer_and_compare(family + "/poly", keys, prompts, 0x1p-6);
  CHECK(compared.at("positions", "json").integer("positions", 0, 10000) == positions);
  CHECK(compared.at("argmax_agreement", "json").number("argmax_agreement") == 1);
  CHECK(compared.at("least_cosine", "json").number("least_cosine") > 0.9999);
}

TEST_CASE(
    "language models of every family recall on ciphertexts what their twins recall, and go on with a text") {
  for (const std::string family : {"gpt-neox", "gpt2", "llama"}) {
    const std::string grouped = family == "llama" ? " --kv-heads 1" : "";
    follow(family, kSmall + std::string("--family ") + family + grouped, "--sample 3", 3 * 24);
    const Outcome text =
        must_run("generate --model " + path_of(family + "/poly.safetensors") + kRing +
                 " --prompt \"k0 v1 k2 v3 k0\" --tokens 8 --compare --json " + path_of("text.json"));
    CHECK(contains(text.out, "the program's own text in the clear, the same: "));
    CHECK(number_in(json_in("text.json"), "agreement", "positions") == 8);
    CHECK(number_in(json_in("text.json"), "agreement", "max_abs") < 0.1);
  }
}

TEST_CASE("a model of texts answers windows of a text") {
  const std::string text = path_of("text.txt"), prompts = "--prompts " + text + " --sample ";
  write_file(text, phrases() + phrases());
  follow("text", kSmall + std::string("--context 16 --text ") + text, prompts + "2", 2 * 16);
  const std::string compare =
      "compare --client " + path_of("text/poly.client") + " --program " + path_of("text/poly.program ");
  check_refused(compare + prompts + "4000", "not 4000 windows of 16");
  check_refused(compare + prompts + "2 --prompt g1", "exactly one of");
}

TEST_CASE("GPT-NeoX as published: erf GELU, residual sums one after the other, 6 of 20 dimensions rotary") {
  attention::ModelConfig config;
  const nn::RecallOptions task;
  const PromptCodec codec(task);
  config.vocab = task.keys + task.values, config.context = task.length, config.layers = 1, config.width = 40,
  config.heads = 2, config.ffn = 24, config.rotary_fraction = 0.3;
  config.block = attention::BlockKind::kPreNorm, config.feed_forward = attention::FeedForwardKind::kGeluErf;
  config.attention = attention::AttentionKind::kSoftmax;
  attention::Checkpoint checkpoint;
  checkpoint.weights = attention::random_weights(config, 1);
  write_notes(codec, checkpoint.notes, checkpoint.weights.config);
  attention::save_checkpoint(path_of("published.safetensors"), checkpoint);
  follow("published", " --from " + path_of("published.safetensors"), "--sample 2", 2 * 24);
}

TEST_CASE("an encoder classifies texts of several lengths on ciphertexts, their lengths encrypted too") {
  write_file(path_of("phrases.tsv"), phrases());
  write_file(path_of("texts.txt"), "g1 g2 g3\nb4 b5\ng\nb1 b2 b3 b4 b5 b6 b7\n");
  follow("roberta", kSmall + std::string("--context 32 --sentences ") + path_of("phrases.tsv"),
         "--prompts " + path_of("texts.txt"), 4);
  const std::string model = path_of("roberta/poly.safetensors");
  const Json scores = figures_of("evaluate --model " + model + " --sentences " + path_of("phrases.tsv"));
  for (const char* form : {"trained", "polynomial"}) CHECK(number_in(scores, form, "positions") == 12);
  check_refused("evaluate --model " + model + " --tasks piqa --dir .", "a classifier of 2 classes");
  check_refused("train --from " + model + " --out " + path_of("x") + " --text " + path_of("texts.txt"),
                "give them with --sentences");
  check_refused("train --family llama --out " + path_of("x") + " --sentences " + path_of("phrases.tsv"),
                "--family llama is not for --sentences");
  check_refused("demo --model " + model, "a classifier is run by");
}

TEST_CASE(
    "BERT classifies pairs of sentences and single ones on ciphertexts, of several lengths in one run") {
  attention::ModelConfig config = attention::preset("bert");
  config.vocab = 17, config.context = 16, config.layers = 1, config.width = 16, config.heads = 2,
  config.ffn = 20;
  config.attention = attention::AttentionKind::kSoftmax, config.classes = 2, config.separator = 3;
  const std::string folder = path_of("bert_files"), model = path_of("bert.safetensors");
  attention::write_hugging_face(folder, attention::random_weights(config, 3));
  write_file(folder + "/vocab.txt", kPieces);
  write_file(path_of("mrpc.tsv"), text_pairs(true));
  write_file(path_of("pairs.txt"), "A12.\tb3\na\nB4. [PAD] a\tA\nb1 b2\tb3 b44\n");
  must_run("import --from " + folder + " --out " + model);
  follow("bert", " --from " + model + " --sentences " + path_of("mrpc.tsv"),
         "--prompts " + path_of("pairs.txt"), 4);
  // All four fill one ciphertext of states and one of lengths.
  CHECK(number_in(figures_of("encrypt --insecure --client " + path_of("bert/poly.client") + " --keys " +
                             path_of("bert/keys") + " --prompts " + path_of("pairs.txt") + " --out " +
                             path_of("x.ct")),
                  "ciphertexts") == 2);
  const std::string back = path_of("bert_back");
  must_run("import --from " + model + " --to hugging-face --out " + back);
  CHECK(read_file(back + "/model.safetensors", 1 << 20) == read_file(folder + "/model.safetensors", 1 << 20));
  CHECK(attention::read_hugging_face(back).weights.config == config);
  check_refused("import --from " + model + " --embedding --out " + path_of("x"), "the mean of the tokens");

  // As sentence-transformers write it: a classifier of the mean to train, then an embedding.
  std::filesystem::create_directories(folder + "/1_Pooling");
  write_file(folder + "/1_Pooling/config.json", "{\"pooling_mode_mean_tokens\": true}");
  must_run("import --from " + folder + " --classes 2 --out " + model);
  follow("sentences", " --from " + model + " --sentences " + path_of("mrpc.tsv"),
         "--prompts " + path_of("pairs.txt"), 4, /*embeds=*/true);
  const Json answers = json_in("answers.json").at("answers", "json");
  CHECK(answers.array("answers")[0].string("").ends_with("(16 numbers), cosine with prompt 0: 1"));
  const std::string settings = read_file(folder + "/config.json", 1 << 16);
  write_file(folder + "/config.json", replaced(settings, "\"sep_token_id\": 3", "\"sep_token_id\": 4"));
  check_refused("import --from " + folder + " --out " + model, "mend sep_token_id in config.json");
}

TEST_CASE("a model of patches classifies images on ciphertexts, a class token before 16 patches") {
  const std::string images = path_of("images.idx"), labels = path_of("labels.idx");
  write_halves(images, labels);
  follow("vit", kSmall + std::string("--images ") + images + " --labels " + labels,
         "--prompts " + images + " --sample 5", 5);
  const std::string encrypt = "--client " + path_of("vit/poly.client") + " --keys " + path_of("vit/keys") +
                              " --out " + path_of("x.ct");
  check_refused("encrypt --insecure " + encrypt + " --prompt hello", "the model reads images");
  check_refused("encrypt --insecure " + encrypt + " --prompts " + labels, "no images of 28 x 28");
  check_refused("evaluate --model " + path_of("vit/poly.safetensors"),
                "give them with --images and --labels");
}

TEST_CASE("a checkpoint whose context no ciphertext holds is cut to the part that is used") {
  const std::string model = path_of("long.safetensors"), whole = path_of("whole.safetensors"),
                    part = path_of("part.safetensors");
  attention::ModelConfig config = attention::preset("gpt2");  // context and heads too large for a ciphertext
  config.vocab = 4, config.context = 2048, config.layers = 1, config.width = 64, config.heads = 1,
  config.ffn = 16, config.epsilon = 0.2;
  attention::Checkpoint checkpoint;
  checkpoint.weights = attention::random_weights(config, 1);
  const std::vector<std::vector<int>> texts(4,
                                            std::vector<int>{0, 1, 2, 3, 3, 2, 1, 0, 0, 1, 3, 2, 0, 2, 1, 3});
  checkpoint.ranges = attention::measure_ranges(checkpoint.weights, texts);
  write_notes(PromptCodec(nn::alphabet_of("abcd")), checkpoint.notes, checkpoint.weights.config);
  attention::save_checkpoint(model, checkpoint);
  const Outcome uncut = must_run("polynomialise --model " + model + " --out " + whole);
  CHECK(contains(uncut.out, "no encrypted form: context is 2048"));
  check_refused("compile --insecure --log-n 11 --model " + whole + " --out " + path_of("whole"),
                "use fewer tokens");
  check_refused("polynomialise --model " + model + " --tokens 4096 --out " + part,
                "4096 tokens of a context of 2048");
  must_run("polynomialise --model " + model + " --tokens 16 --out " + part);
  CHECK(attention::load_checkpoint(part).weights.config.context == 16);
  CHECK(attention::load_checkpoint(part).weights.position_embedding.size() == 16 * 64);
  compile(part, "part");
}

TEST_CASE("what has no encrypted form is said where a model is made polynomial") {
  // The first case trained it.
  const Outcome softmax = must_run("polynomialise --model " + path_of("gpt2/softmax.safetensors") +
                                   " --out " + path_of("s.safetensors"));
  CHECK(contains(softmax.out, "no encrypted form: attention is softmax"));
  check_refused(
      "compile --insecure --log-n 11 --model " + path_of("s.safetensors") + " --out " + path_of("s"),
      "attention softmax");
}

}  // namespace
}  // namespace psm::cmd
