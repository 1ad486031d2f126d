#include "attention/trained/generate.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "attention/trained/key_value_cache.h"
#include "attention/trained/model.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/progress.h"

namespace psm::attention {
namespace {

constexpr size_t kGroup = 32;  // sequences that are read together

void check(const ModelConfig& config, std::span<const std::vector<int>> prompts, int length) {
  if (!config.is_causal_language_model())
    throw Error("only a causal language model can write text; give one");
  if (length < 1 || length > config.context)
    throw Error(message("a text of ", length, " tokens does not fit the model's context of ", config.context,
                        "; ask for fewer"));
  for (const std::vector<int>& prompt : prompts) {
    if (prompt.empty() || prompt.size() > static_cast<size_t>(length))
      throw Error(message("a prompt has ", prompt.size(), " tokens and the text is to have ", length,
                          "; give a prompt of 1 to that many"));
    for (const int token : prompt)
      if (token < 0 || token >= config.vocab)
        throw Error(message("token ", token, " is not in the model's vocabulary of ", config.vocab));
  }
}

}  // namespace

int sample_token(std::span<const float> logits, const SamplingOptions& options, TrainingRandom& random) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (options.temperature == 0) return static_cast<int>(best - logits.begin());
  float least = -INFINITY;  // of the logits that may be drawn
  if (options.top_k > 0 && static_cast<size_t>(options.top_k) < logits.size()) {
    std::vector<float> sorted(logits.begin(), logits.end());
    std::nth_element(sorted.begin(), sorted.begin() + (options.top_k - 1), sorted.end(), std::greater<>());
    least = sorted[options.top_k - 1];
  }
  const auto weight = [&](float z) {
    return z < least ? 0.0 : std::exp((static_cast<double>(z) - *best) / options.temperature);
  };
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

std::vector<std::vector<int>> generate(const ModelWeights& weights, std::span<const std::vector<int>> prompts,
                                       int length, const SamplingOptions& options) {
  check(weights.config, prompts, length);
  std::vector<float> values = flatten(weights);
  const Model<float> model(weights.config, values.data(), nullptr);
  std::vector<std::vector<int>> texts(prompts.begin(), prompts.end());
  const TrainingRandom streams(options.seed);
  const size_t groups = (texts.size() + kGroup - 1) / kGroup;
  Progress progress("sampling", static_cast<double>(groups));
  parallel_for(0, groups, [&](size_t group) {
    const size_t first = group * kGroup, count = std::min(kGroup, texts.size() - first);
    KeyValueCache<float> past(weights.config, static_cast<int>(count), length);
    nn::Tape<float> tape(nn::Gradients::kNone);
    ForwardTensors<float> out;
    std::vector<TrainingRandom> random;
    for (size_t s = 0; s < count; ++s) random.push_back(streams.split(first + s));
    std::vector<int> tokens(count);
    for (size_t t = 0; t + 1 < static_cast<size_t>(length); ++t) {
      for (size_t s = 0; s < count; ++s) tokens[s] = texts[first + s][t];
      tape.restart();
      model.read_next(tape, tokens, past, out);
      for (size_t s = 0; s < count; ++s) {
        std::vector<int>& text = texts[first + s];
        if (text.size() > t + 1) continue;  // still the prompt
        const std::span<const float> logits(out.logits.row(static_cast<int>(s)),
                                            static_cast<size_t>(out.logits.columns));
        text.push_back(sample_token(logits, options, random[s]));
      }
    }
    progress.advance();
  });
  return texts;
}

}  // namespace psm::attention
