#include "cmd/compiler/shapes.h"

#include <algorithm>
#include <cmath>

#include "attention/trained/measure.h"
#include "ckks/base/error.h"
#include "ckks/base/joined.h"
#include "ckks/base/random/training_random.h"

namespace psm::cmd {
namespace {

constexpr double kVarianceSpan = 6, kDenominatorSpan = 600;
constexpr int kMeasured = 4;  // sequences, prompts included
// Further sequences reach at most about this factor more than a few do. A first token sees itself alone, so that its
// scores spread widely, and each sequence has one.
constexpr double kFewSequences = 1.5;

struct PublishedShape {
  const char* name;
  const char* family;  // attention::preset's
  int vocab, layers, width, heads, ffn;
  double rotary_fraction = 0;
  int kv_heads = 0;      // 0: as many as heads
  int classes = 0;       // of a classifier
  int patch_inputs = 0;  // numbers in a patch, of a model of images
  int fixed_tokens = 0;  // that it always has; 0: any number
  bool embeds = false;   // attention::embed_sentences
};
constexpr PublishedShape kShapes[] = {
    {"pythia-70m", "gpt-neox", 50304, 6, 512, 8, 2048, 0.25},
    {"pythia-160m", "gpt-neox", 50304, 12, 768, 12, 3072, 0.25},
    {"pythia-410m", "gpt-neox", 50304, 24, 1024, 16, 4096, 0.25},
    {"pythia-1.4b", "gpt-neox", 50304, 24, 2048, 16, 8192, 0.25},
    {"gpt2", "gpt2", 50257, 12, 768, 12, 3072},
    {"llama-7b", "llama", 32000, 32, 4096, 32, 11008, 1.0},
    {"llama-3-8b", "llama", 128256, 32, 4096, 32, 14336, 1.0, 8},
    {"bert-base", "bert", 30522, 12, 768, 12, 3072, 0, 0, 2},
    {"minilm", "bert", 30522, 6, 384, 12, 1536, 0, 0, 384, 0, 0, true},
    {"roberta-base", "roberta", 50265, 12, 768, 12, 3072, 0, 0, 2},
    {"vit-base", "vit", 0, 12, 768, 12, 3072, 0, 0, 1000, 16 * 16 * 3, 197},
};

}  // namespace

ShapeFlags::ShapeFlags(Flags& all, const std::string& default_shape)
    : flags(all),
      shape(all.text("shape", default_shape,
                     "a published shape: " + joined(kShapes, ", ", &PublishedShape::name))),
      tokens(all.integer("tokens", 128, 2, 4096,
                         "--shape: tokens of a sequence, which take places of a power of two")),
      layers(all.integer("layers", 0, 0, 1000, "--shape: its first layers alone; 0: all")) {}

void ShapeFlags::require_none() const {
  if (flags.given("shape")) throw Error("--model and --shape exclude each other");
  for (const char* name : {"tokens", "layers"})
    if (flags.given(name)) throw Error(message("--", name, " is for --shape; --model has its own"));
}

attention::ModelConfig ShapeFlags::config() const {
  const auto* of =
      std::ranges::find(kShapes, shape, [](const PublishedShape& s) { return std::string(s.name); });
  if (of == std::end(kShapes))
    throw Error(
        message("unknown shape '", shape, "'; there are ", joined(kShapes, ", ", &PublishedShape::name)));
  if (of->fixed_tokens > 0 && flags.given("tokens") && tokens != of->fixed_tokens)
    throw Error(message(shape, " has ", of->fixed_tokens,
                        " tokens, its patches and the class token; give --tokens ", of->fixed_tokens));
  if (layers > of->layers) throw Error(message(shape, " has ", of->layers, " layers, not ", layers));
  attention::ModelConfig config = attention::preset(of->family);
  config.vocab = of->vocab;
  config.context = of->fixed_tokens > 0 ? of->fixed_tokens : static_cast<int>(tokens);
  config.layers = layers > 0 ? static_cast<int>(layers) : of->layers;
  config.width = of->width;
  config.heads = of->heads;
  config.kv_heads = of->kv_heads;
  config.ffn = of->ffn;
  config.rotary_fraction = of->rotary_fraction;
  config.classes = of->classes;
  config.patch_inputs = of->patch_inputs;
  config.mean_pooling = of->embeds;
  config.pooler = config.pooler && !of->embeds;
  config.validate();
  return config;
}

RandomModel random_model(const attention::ModelConfig& config, uint64_t seed, int prompts) {
  PSM_CHECK(prompts >= 1, prompts);
  if (config.patch_inputs > 0)
    throw Error(
        "random prompts are texts, and the shape reads images; //cmd:compile -- --dry-run predicts it");
  RandomModel model;
  attention::ModelWeights& weights = model.checkpoint.weights;
  weights = attention::random_ends(config, seed);
  if (config.mean_pooling) attention::embed_sentences(weights);
  model.checkpoint.read_layer = [config, seed](int n) { return attention::random_layer(config, seed, n); };
  TrainingRandom lengths = TrainingRandom(seed).split(0), tokens = TrainingRandom(seed).split(1);
  const auto width = static_cast<size_t>(config.width);
  for (size_t begin = 0; begin < weights.embedding.size(); begin += width) {
    const double length = std::pow(kVarianceSpan, lengths.uniform(-0.25, 0.25));
    for (size_t i = begin; i < begin + width; ++i) weights.embedding[i] *= static_cast<float>(length);
  }

  std::vector<std::vector<int>> measured(static_cast<size_t>(std::max(prompts, kMeasured)));
  for (std::vector<int>& sequence : measured) {
    sequence.resize(static_cast<size_t>(config.context));
    for (int& token : sequence) token = static_cast<int>(tokens.integer(static_cast<uint64_t>(config.vocab)));
  }
  double largest = 0;
  const auto ranges = [&] {
    return attention::measure_ranges(weights, model.checkpoint.read_layer, measured);
  };
  for (const attention::LayerRanges& layer : ranges().layers)
    largest = std::max(largest, layer.denominator.hi);
  const double denominators = std::pow(kFewSequences, config.power);  // sums of scores to the p
  weights.config.epsilon = denominators * largest / kDenominatorSpan;
  model.checkpoint.ranges = ranges();
  // Features of a random model are alike. What they reach in a few sequences differs by chance alone.
  std::vector<double>& reached = model.checkpoint.ranges->residual;
  std::ranges::fill(reached, std::ranges::max(reached));
  for (attention::LayerRanges& layer : model.checkpoint.ranges->layers) {
    layer.score *= kFewSequences, layer.gelu_input *= kFewSequences;
    layer.denominator.hi *= denominators;
  }
  model.checkpoint.polynomial = attention::PolynomialOptions{};
  measured.resize(static_cast<size_t>(prompts));
  model.prompts = std::move(measured);
  return model;
}

}  // namespace psm::cmd
