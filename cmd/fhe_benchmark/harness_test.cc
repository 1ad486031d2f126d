// Plays the harness of the benchmarks: its folders, files and calls. The rings offer no security.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "attention/reference/polynomial_model.h"
#include "cmd/testing/test_pipeline.h"
#include "cmd/testing/test_tasks.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::cmd {
namespace {

namespace fs = std::filesystem;

// A copy of the harness, after its step 1.
class Harness {
 public:
  Harness(const std::string& name, const std::string& submission)
      : root_(path_of(name)), build_(submission + "/build") {
    fs::create_directories(root_ + "/" + submission);
    fs::create_directory_symlink(runfile("cmd/fhe_benchmark"), root_ + "/" + build_);
  }

  Outcome run(const std::string& step) const {
    const std::string files = " >" + path_of("out") + " 2>" + path_of("err");
    const int status =
        std::system(("cd " + root_ + " && " + root_ + "/" + build_ + "/" + step + files).c_str());
    return {WEXITSTATUS(status), read(path_of("out")), read(path_of("err"))};
  }
  void must(const std::string& step) const {
    CAPTURE(step);
    const Outcome outcome = run(step);
    REQUIRE_MESSAGE(outcome.exit_code == 0, outcome.err);
  }
  // Steps 2 to 9, which begin with an empty folder of the size.
  void play(const std::string& size, const std::string& folder, const std::string& input,
            const std::string& text) const {
    const std::string io = "io/" + folder, data = "datasets/" + folder + "/intermediate";
    fs::remove_all(path(io));
    fs::create_directories(path(io)), fs::create_directories(path(data));
    must("client_key_generation " + size + " --insecure");
    CHECK(fs::exists(path(io + "/public_keys/evaluation.keys")));
    CHECK_FALSE(fs::exists(path(io + "/public_keys/secret.key")));
    must("server_preprocess_model");
    write_file(path(data + "/" + input), text);
    must("client_preprocess_input " + size);
    must("client_encode_encrypt_input " + size + " --insecure");
    must("server_encrypted_compute " + size + " --insecure");
    must("client_decrypt_decode " + size + " --insecure");
    must("client_postprocess " + size);
    const Json steps = parse_json(read(path(io + "/server_reported_steps.json")), "steps");
    CHECK(steps.at("Encrypted computation", "steps").number("seconds") > 0);
    CHECK(steps.at("Total", "steps").number("seconds") >
          steps.at("Encrypted computation", "steps").number("seconds"));
  }
  std::string predictions(const std::string& folder) const {
    return read(path("io/" + folder + "/encrypted_model_predictions.txt"));
  }
  std::string path(const std::string& name) const { return root_ + "/" + name; }

 private:
  static std::string read(const std::string& file) { return read_file(file, 1 << 22); }

  std::string root_, build_;
};

attention::ModelConfig small(const char* family) {
  attention::ModelConfig config = attention::preset(family);
  config.layers = 1, config.width = 16, config.heads = 2, config.ffn = 20, config.classes = 2,
  config.epsilon = 0.2;
  return config;
}

// Compiles a model of random weights whose ranges are those of the examples. Returns their classes, a line each.
template <typename Example>
std::string compile_for(const attention::ModelConfig& config, const PromptCodec& codec,
                        const std::vector<std::vector<Example>>& examples, const std::string& out) {
  attention::Checkpoint checkpoint;
  checkpoint.weights = attention::random_weights(config, 3);
  // Both classes occur, where the logits are far apart, so that the answer to another example shows.
  std::vector<double> gaps;
  const auto gap = [&](const std::vector<Example>& example) {
    const auto logits =
        attention::reference_forward(checkpoint.weights, std::span<const Example>(example)).logits;
    return logits[1] - logits[0];
  };
  for (const auto& example : examples) gaps.push_back(gap(example));
  std::vector<double> sorted = gaps;
  std::sort(sorted.begin(), sorted.end());
  double middle = 0, widest = 0;
  for (size_t i = 1; i < sorted.size(); ++i)
    if (const double apart = sorted[i] - sorted[i - 1]; apart > widest)
      widest = apart, middle = (sorted[i] + sorted[i - 1]) / 2;
  CHECK(widest > 0.05);
  checkpoint.weights.class_bias[1] -= static_cast<float>(middle);
  checkpoint.ranges = attention::measure_ranges(checkpoint.weights, examples);
  checkpoint.polynomial = attention::PolynomialOptions{.margin = attention::kMargin};
  write_notes(codec, checkpoint.notes, config);
  const std::string model = path_of("poly.safetensors");
  attention::save_checkpoint(model, checkpoint);
  must_run("compile --model " + model + " --out " + out + kRing);
  std::string classes;
  for (const double each : gaps) classes += each > middle ? "1\n" : "0\n";
  return classes;
}

TEST_CASE("BERT's benchmark: pairs of sentences go in, and their classes come out") {
  const Harness harness("bert", "submissions");
  attention::ModelConfig config = small("bert");
  config.vocab = 17, config.context = 16, config.separator = 3;
  const PromptCodec codec(
      std::make_shared<const nn::Tokenizer>(nn::spec_from_vocabulary(kPieces, "", "test"), "test"),
      config.classes);
  const std::vector<std::pair<std::string, std::string>> pairs = {{"A12.", "b3"},
                                                                  {"b", "B"},
                                                                  {"a1 b2 [PAD]", "a34."},
                                                                  {"b b b", "a"},
                                                                  {"a5", "b6 b7"},
                                                                  {"a", "A"},
                                                                  {"a b a b a b a b a b a b", "b a b"}};
  std::string input;
  std::vector<std::vector<int>> prompts;
  for (const auto& [one, two] : pairs) {
    input += Json(Json::Object{{"target_idx", 100 - static_cast<int>(prompts.size())},
                               {"sentence1", one},
                               {"sentence2", two}})
                 .dump(0) +
             "\n";
    prompts.push_back(codec.encode(one + "\t" + two, config.context));
  }
  CHECK(prompts.back().size() == static_cast<size_t>(config.context));  // the last pair is cut
  const std::string classes = compile_for(config, codec, prompts, harness.path("submissions/model"));
  harness.play("1", "small", "test_input.txt", input);
  CHECK(harness.predictions("small") == classes);
  harness.play("0", "single", "test_input.txt", input.substr(0, input.find('\n') + 1));
  CHECK(harness.predictions("single") == classes.substr(0, 2));
  // A tab or a new line in a sentence parts no texts, and an empty sentence is one of the two.
  write_file(harness.path("datasets/single/intermediate/test_input.txt"),
             R"({"sentence1": "a\t1", "sentence2": "b\n2"})"
             "\n"
             R"({"sentence1": "", "sentence2": "b"})"
             "\n"
             R"({"sentence1": "", "sentence2": ""})");
  harness.must("client_preprocess_input 0");
  CHECK(read_file(harness.path("io/single/intermediate/prompts"), 100) == "a 1\tb 2\n\tb\n\t\n");
}

TEST_CASE("MNIST's benchmark: images go in, and their classes come out") {
  const Harness harness("mnist", "submission");
  attention::ModelConfig config = small("vit");
  const attention::PatchGrid grid{28, 28, 14, 1};
  config.context = grid.patches() + 1, config.patch_inputs = grid.patch_inputs();
  const PromptCodec codec(grid, config.classes);
  std::string input, bytes("\0\0\x08\x03\0\0\0\4\0\0\0\x1c\0\0\0\x1c", 16);
  for (int n = 0; n < 4; ++n) {
    for (int pixel = 0; pixel < 28 * 28; ++pixel) {
      const int grey = (pixel % 28 < 14) == (n % 2 == 0) ? 255 - 40 * n : pixel % (n + 2) * 20;
      bytes += static_cast<char>(grey);
      char text[16];
      std::snprintf(text, sizeof text, "%.6f ", grey / 255.0);
      input += text;
    }
    input.back() = '\n';
  }
  write_file(path_of("images.idx"), bytes);
  std::vector<std::vector<float>> images;
  for (const std::vector<int>& greys : codec.read_images(path_of("images.idx"), 4))
    for (std::vector<float>& patches = images.emplace_back(); const int grey : greys)
      patches.push_back(attention::patch_input(grey));
  const std::string classes = compile_for(config, codec, images, harness.path("submission/model"));
  harness.play("1", "small", "test_pixels.txt", input);
  CHECK(read_file(harness.path("io/small/intermediate/prompts"), 1 << 20) == bytes);
  CHECK(harness.predictions("small") == classes);
}

TEST_CASE("a call or an input that is not the harness's is refused in one line") {
  const Harness harness("refused", "submissions");
  const auto refused = [&](const std::string& step, const char* why) {
    CAPTURE(step);
    const Outcome outcome = harness.run(step);
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.err.starts_with("error: "));
    CHECK(outcome.err.find(why) != std::string::npos);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  refused("client_key_generation", "usage: client_key_generation SIZE, from 0 to 3");
  refused("client_postprocess 4", "usage: client_postprocess SIZE");
  refused("client_postprocess 0", "answers.json");
  refused("server_preprocess_model", "model.program");
  refused("client_preprocess_input 2", "datasets/medium/intermediate/test_input.txt");
  const std::string data = harness.path("datasets/single/intermediate/");
  fs::create_directories(data);
  write_file(data + "test_input.txt", "\n");
  refused("client_preprocess_input 0", "holds no input");
  write_file(data + "test_input.txt", "{\"sentence1\": \"a\"}\n");
  refused("client_preprocess_input 0", "sentence2");
  for (const char* pixels : {"0 0.5 2 1\n", "0 0.5 1\n", "0 0.5 x 1\n", "0 0 0 0\n0\n"}) {
    write_file(data + "test_pixels.txt", pixels);
    refused("client_preprocess_input 0", "test_pixels.txt: ");
  }
  std::string many;
  for (int i = 0; i < 4097; ++i) many += "0\n";
  write_file(data + "test_pixels.txt", many);
  refused("client_preprocess_input 0", "more than 4096 images");
}

}  // namespace
}  // namespace psm::cmd
