// Fuzz targets of model files (ckks/base/testing/fuzz.h says how they are run for long).

#include "attention/files/checkpoint.h"
#include "attention/shape/config_json.h"
#include "attention/trained/measure.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check_fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "doctest/doctest.h"
#include "nn/testing/fuzz_safetensors.h"

namespace psm::attention {
namespace {

ModelWeights tiny() {
  ModelConfig config;
  config.vocab = 3, config.context = 4, config.layers = 1, config.width = 2, config.heads = 1, config.ffn = 2;
  config.epsilon = 0.1;
  return random_weights(config, 3);
}

void run(const FuzzTarget& target) {
  const FuzzReport report = check_fuzz(target);
  CHECK(report.refused > report.accepted);
}

TEST_CASE("a model's file: a model that is read is complete") {
  Checkpoint checkpoint;
  checkpoint.weights = tiny();
  const std::string path = path_of("valid");
  FuzzTarget target;
  save_checkpoint(path, checkpoint);
  target.corpus.push_back(nn::without_checksum(read_file(path, 1 << 20)));
  const std::vector<std::vector<int>> prompts = {{1, 2}, {0}};
  checkpoint.ranges = measure_ranges(checkpoint.weights, prompts);
  checkpoint.polynomial = PolynomialOptions{.margin = 1.5};
  checkpoint.notes = {{"prompts", "616263"}};
  save_checkpoint(path, checkpoint);
  target.corpus.push_back(nn::without_checksum(read_file(path, 1 << 20)));

  target.name = "checkpoint";
  target.repair = nn::repair_safetensors;
  target.marks = nn::safetensors_marks;
  target.decode = [](std::string_view bytes) {
    const Checkpoint read = checkpoint_from(
        nn::read_safetensors(ByteSource("input", bytes), nn::ChecksumRule::kIfPresent), "input");
    read.weights.validate();
    PSM_CHECK(!read.ranges || read.ranges->layers.size() == read.weights.layers.size());
  };
  target.fixed_bytes = 8192, target.bytes_per_byte = 100;
  run(target);
}

TEST_CASE("a model's configuration") {
  FuzzTarget target;
  target.name = "model configuration";
  target.corpus = {config_to_json(tiny().config)};
  target.decode = [](std::string_view text) { config_from_json(std::string(text), "input").validate(); };
  target.fixed_bytes = 8192, target.bytes_per_byte = 200;
  run(target);
}

TEST_CASE("measured ranges and the options of the polynomials") {
  FuzzTarget target;
  target.name = "ranges and options";
  const ModelWeights weights = tiny();
  const std::vector<std::vector<int>> prompts = {{1, 2}, {0}};
  target.corpus = {ranges_to_json(measure_ranges(weights, prompts)).dump(0), options_to_json({}).dump(0)};
  target.decode = [&](std::string_view text) {
    const Json json = parse_json(text, "input");
    if (json.find("margin") != nullptr) {
      options_from_json(json);
    } else {
      ranges_from_json(json, weights.config);
    }
  };
  target.fixed_bytes = 8192, target.bytes_per_byte = 200;
  run(target);
}

}  // namespace
}  // namespace psm::attention
