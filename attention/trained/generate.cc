#include "attention/trained/generate.h"

#include <algorithm>
#include <cmath>

#include "attention/trained/key_value_cache.h"
#include "attention/trained/model.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/progress.h"

namespace psm::attention {
namespace {

constexpr size_t kGroup = 32;  // sequences that are read together

}  // namespace

int sample_token(std::span<const float> logits, TrainingRandom& random) {
  const auto best = std::max_element(logits.begin(), logits.end());
  const auto weight = [&](float z) { return std::exp(static_cast<double>(z) - *best); };
  double total = 0;
  for (const float z : logits) total += weight(z);
  const double drawn = total * random.uniform();
  double sum = 0;
  for (size_t j = 0; j < logits.size(); ++j) {
    sum += weight(logits[j]);
    if (drawn < sum) return static_cast<int>(j);
  }
  return static_cast<int>(best - logits.begin());  // rounding left nothing else
}

std::vector<std::vector<int>> generate(const ModelWeights& weights, int start, size_t count, int length,
                                       uint64_t seed) {
  const ModelConfig& config = weights.config;
  if (!config.is_causal_language_model())
    throw Error("only a causal language model can write text; give one");
  if (length < 1 || length > config.context)
    throw Error(message("a text of ", length, " tokens does not fit the model's context of ", config.context,
                        "; ask for fewer"));
  if (start < 0 || start >= config.vocab)
    throw Error(message("token ", start, " is not in the model's vocabulary of ", config.vocab));
  const Model<float> model(weights);
  std::vector<std::vector<int>> texts(count, {start});
  const TrainingRandom streams(seed);
  const size_t groups = (texts.size() + kGroup - 1) / kGroup;
  Progress progress("sampling", static_cast<double>(groups));
  parallel_for(0, groups, [&](size_t group) {
    const size_t first = group * kGroup, size = std::min(kGroup, texts.size() - first);
    KeyValueCache<float> past(config, static_cast<int>(size), length);
    nn::Tape<float> tape(nn::Gradients::kNone);
    ForwardTensors<float> out;
    std::vector<TrainingRandom> random;
    for (size_t s = 0; s < size; ++s) random.push_back(streams.split(first + s));
    std::vector<int> tokens(size);
    for (size_t t = 0; t + 1 < static_cast<size_t>(length); ++t) {
      for (size_t s = 0; s < size; ++s) tokens[s] = texts[first + s][t];
      tape.restart();
      model.read_next(tape, tokens, past, out);
      for (size_t s = 0; s < size; ++s) {
        const std::span<const float> logits(out.logits.row(static_cast<int>(s)),
                                            static_cast<size_t>(out.logits.columns));
        texts[first + s].push_back(sample_token(logits, random[s]));
      }
    }
    progress.advance();
  });
  return texts;
}

}  // namespace psm::attention
