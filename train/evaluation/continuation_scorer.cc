#include "train/evaluation/continuation_scorer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "train/evaluation/token_score.h"

namespace psm {
namespace {

// Positions that a thread reads at once: fewer where their logits would take more than 64 MiB, but a text at least.
constexpr size_t kPositions = 1024, kLogits = size_t{1} << 24;

void require_causal(const ModelConfig& config) {
  if (!config.is_causal_language_model())
    throw Error("only a causal language model can be asked how likely a text goes on; give one");
}

void require_fitting(const ModelConfig& config, const ScoredText& text) {
  PSM_CHECK(text.scored >= 1 && text.scored < text.tokens.size(), text.scored, " ", text.tokens.size());
  PSM_CHECK(text.tokens.size() <= static_cast<size_t>(config.context) + 1, text.tokens.size());
  for (const int token : text.tokens)
    if (token < 0 || token >= config.vocab)
      throw Error(message("token ", token, " is not in the model's vocabulary of ", config.vocab,
                          "; give the tokenizer that belongs to the model"));
}

// row(position): the logits behind a text's token at that position.
template <typename Row>
ContinuationScore score_of(const ScoredText& text, const Row& row) {
  ContinuationScore score{.greedy = true};
  for (size_t i = text.tokens.size() - text.scored; i < text.tokens.size(); ++i) {
    const TokenScore token = score_token(row(i - 1), text.tokens[i]);
    score.log_likelihood += token.log_probability;
    score.greedy = score.greedy && token.greedy;
  }
  return score;
}

class TrainedScorer final : public ContinuationScorer {
 public:
  explicit TrainedScorer(const ModelWeights& weights)
      : values_(flatten(weights)),
        grads_(values_.size()),
        model_(weights.config, values_.data(), grads_.data()) {}

  const ModelConfig& config() const override { return model_.config; }

  std::vector<ContinuationScore> score(std::span<const ScoredText> texts) override {
    for (const ScoredText& text : texts) require_fitting(config(), text);
    // The longest first, so that a batch is hardly filled up.
    std::vector<size_t> order(texts.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return texts[a].tokens.size() > texts[b].tokens.size(); });
    std::vector<std::span<const size_t>> batches;
    for (size_t first = 0; first < order.size();) {
      const size_t length = texts[order[first]].tokens.size() - 1;
      const size_t positions = std::min(kPositions, kLogits / static_cast<size_t>(config().vocab));
      const size_t count = std::min(std::max<size_t>(1, positions / length), order.size() - first);
      batches.push_back(std::span(order).subspan(first, count));
      first += count;
    }
    std::vector<ContinuationScore> scores(texts.size());
    const auto at_once = static_cast<size_t>(thread_count());
    parts_.resize(std::max(parts_.size(), at_once));
    for (size_t start = 0; start < batches.size(); start += at_once)
      parallel_for(0, std::min(at_once, batches.size() - start),
                   [&](size_t p) { score_batch(texts, batches[start + p], parts_[p], scores); });
    return scores;
  }

 private:
  struct Part {
    Tape<float> tape;
    ForwardTensors<float> out;
    std::vector<int> tokens;
  };

  void score_batch(std::span<const ScoredText> texts, std::span<const size_t> batch, Part& part,
                   std::vector<ContinuationScore>& scores) const {
    const size_t length = texts[batch.front()].tokens.size() - 1;
    part.tokens.assign(batch.size() * length, 0);  // no causal model sees what fills up the end
    for (size_t s = 0; s < batch.size(); ++s) {
      const std::span<const int> tokens = texts[batch[s]].tokens;
      std::copy(tokens.begin(), tokens.end() - 1,
                part.tokens.begin() + static_cast<std::ptrdiff_t>(s * length));
    }
    part.tape.restart();
    part.out.keep_scores = false;
    model_.forward(part.tape, {.length = static_cast<int>(length), .tokens = part.tokens}, part.out);
    for (size_t s = 0; s < batch.size(); ++s)
      scores[batch[s]] = score_of(texts[batch[s]], [&](size_t position) {
        return std::span<const float>(part.out.logits.row(static_cast<int>(s * length + position)),
                                      static_cast<size_t>(config().vocab));
      });
  }

  std::vector<float> values_, grads_;
  Model<float> model_;
  std::vector<Part> parts_;  // one for each thread
};

class PolynomialScorer final : public ContinuationScorer {
 public:
  explicit PolynomialScorer(PolynomialModel model) : model_(std::move(model)) {}

  const ModelConfig& config() const override { return model_.weights.config; }

  std::vector<ContinuationScore> score(std::span<const ScoredText> texts) override {
    for (const ScoredText& text : texts) require_fitting(config(), text);
    std::vector<ContinuationScore> scores(texts.size());
    const auto vocab = static_cast<size_t>(config().vocab);
    parallel_for(0, texts.size(), [&](size_t i) {
      const ForwardResult result =
          polynomial_forward(model_, texts[i].tokens.first(texts[i].tokens.size() - 1));
      scores[i] = score_of(texts[i], [&](size_t position) {
        return std::span(result.logits).subspan(position * vocab, vocab);
      });
    });
    return scores;
  }

 private:
  PolynomialModel model_;
};

}  // namespace

std::unique_ptr<ContinuationScorer> trained_scorer(const ModelWeights& weights) {
  require_causal(weights.config);
  return std::make_unique<TrainedScorer>(weights);
}

std::unique_ptr<ContinuationScorer> polynomial_scorer(PolynomialModel model) {
  require_causal(model.weights.config);
  return std::make_unique<PolynomialScorer>(std::move(model));
}

}  // namespace psm
