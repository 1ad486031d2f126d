#include "train/evaluation/evaluation.h"

#include <algorithm>
#include <memory>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "train/evaluation/token_score.h"

namespace psm {
namespace {
constexpr int kSequences = 16;  // in one part
constexpr int kParts = 8;       // computed between two visits
}  // namespace

void for_each_forward(const ModelWeights& weights, const Batch& batch, const VisitForward& visit) {
  batch.require_finite();
  struct Part {
    Tape<float> tape;
    ForwardTensors<float> out;
  };
  std::vector<float> values = flatten(weights), grads(values.size());
  const Model<float> model(weights.config, values.data(), grads.data());
  std::vector<std::unique_ptr<Part>> parts;
  for (int p = 0; p < kParts; ++p) parts.push_back(std::make_unique<Part>());
  const int total = (batch.sequences + kSequences - 1) / kSequences;
  for (int start = 0; start < total; start += kParts) {
    const int here = std::min(kParts, total - start);
    auto first = [&](size_t p) { return (start + static_cast<int>(p)) * kSequences; };
    auto count = [&](size_t p) { return std::min(kSequences, batch.sequences - first(p)); };
    parallel_for(0, here, [&](size_t p) {
      parts[p]->tape.restart();
      model.forward(parts[p]->tape, batch.input(first(p), count(p)), parts[p]->out);
    });
    for (int p = 0; p < here; ++p) visit(first(p), count(p), parts[p]->out);
  }
}

Evaluation evaluate(const ModelWeights& weights, const Batch& batch) {
  Evaluation result;
  double total = 0;
  for_each_forward(weights, batch, [&](int first, int count, const ForwardTensors<float>& out) {
    const std::span<const int> targets = batch.scored_by(first, count);
    for (int r = 0; r < out.logits.rows; ++r) {
      const int target = targets[r];
      if (target < 0) continue;
      const TokenScore score = score_token(
          std::span<const float>(out.logits.row(r), static_cast<size_t>(out.logits.columns)), target);
      total -= score.log_probability;
      ++result.scored;
      result.correct += score.greedy;
    }
  });
  if (result.scored > 0) result.cross_entropy = total / static_cast<double>(result.scored);
  return result;
}

}  // namespace psm
