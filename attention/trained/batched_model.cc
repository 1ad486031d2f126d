#include "attention/trained/batched_model.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "attention/trained/power_softmax.h"
#include "ckks/base/parallel.h"
#include "ckks/base/progress.h"
#include "nn/layers/norm.h"

namespace psm::attention {
namespace {

constexpr size_t kFloats = size_t{1} << 25;  // of a part's tensors, at most
constexpr size_t kPositions = 1024;          // more make no product faster

// Floats that a forward pass keeps for each position, roughly.
size_t floats_of_position(const ModelConfig& config, size_t length, bool logits) {
  const size_t block = size_t{10} * config.width + size_t{3} * config.key_width() + size_t{4} * config.ffn +
                       config.heads * length;
  return config.layers * block + size_t{3} * config.width + (logits ? config.vocab : 0);
}

// Orders the examples, the longest first, so that a part is hardly filled up.
std::vector<size_t> by_length(const ModelConfig& config, const Examples& examples) {
  std::vector<size_t> order(examples.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return examples.length(config, a) > examples.length(config, b);
  });
  return order;
}

// What one thread works with.
struct Workspace {
  nn::Tape<float> tape{nn::Gradients::kNone};
  ForwardTensors<float> out;
};

}  // namespace

BatchedModel::BatchedModel(const ModelWeights& weights, ReplacedFunctions functions)
    : functions_(std::move(functions)), model_(weights) {
  model_.functions = &functions_;
}

void BatchedModel::run(const Examples& examples, const BatchedOptions& options,
                       const std::function<void(const BatchedPart&)>& visit) const {
  require_readable(config(), examples);
  const std::vector<size_t> order = by_length(config(), examples);
  std::vector<std::span<const size_t>> parts;
  for (size_t first = 0; first < order.size();) {
    const auto length = static_cast<size_t>(examples.length(config(), order[first]));
    const size_t positions =
        std::min(kPositions, kFloats / floats_of_position(config(), length, options.logits));
    const size_t count = std::min(std::max<size_t>(1, positions / length), order.size() - first);
    parts.push_back(std::span(order).subspan(first, count));
    first += count;
  }

  if (options.states) options.states->resize(parts.size());

  const auto run_part = [&](size_t p, Workspace& work) {
    const std::span<const size_t> part = parts[p];
    const int length = examples.length(config(), part.front());
    std::vector<int> tokens, lengths, rows;
    std::vector<float> patches;
    const size_t inputs = config().patch_inputs;
    for (size_t i = 0; i < part.size(); ++i) {
      lengths.push_back(examples.length(config(), part[i]));
      if (inputs > 0) {
        const std::span<const float> image = examples.images[part[i]];
        patches.insert(patches.end(), image.begin(), image.end());
        patches.resize((i + 1) * (length - 1) * inputs);
      } else {
        const std::span<const int> text = examples.texts[part[i]];
        tokens.insert(tokens.end(), text.begin(), text.end());
        tokens.resize((i + 1) * length);
      }
      for (size_t t = 0; options.has_logits && t < static_cast<size_t>(lengths[i]); ++t)
        if (options.has_logits(part[i], t)) rows.push_back(static_cast<int>(i * length + t));
    }
    work.tape.restart();
    work.out.keep_scores = options.keep_scores;
    ModelInput input{.length = length,
                     .tokens = tokens,
                     .lengths = lengths,
                     .patches = patches,
                     .rows = rows,
                     .logits = options.logits && !(options.has_logits && rows.empty()),
                     .layer = options.layer};
    if (options.states) input.state = (*options.states)[p];
    model_.forward(work.tape, input, work.out);
    visit({part, length, lengths, work.out});
    if (options.states) {
      const nn::Tensor<float>& x = work.out.residual.back();
      (*options.states)[p].assign(x.value, x.value + x.size());
    }
  };

  const auto at_once = std::min(static_cast<size_t>(thread_count()), parts.size());
  std::vector<std::unique_ptr<Workspace>> workspaces(at_once);
  for (auto& workspace : workspaces) workspace = std::make_unique<Workspace>();
  std::unique_ptr<Progress> progress;
  if (!options.progress.empty())
    progress = std::make_unique<Progress>(options.progress, static_cast<double>(examples.size()));
  for (size_t start = 0; start < parts.size(); start += at_once)
    parallel_for(0, std::min(at_once, parts.size() - start), [&](size_t p) {
      run_part(start + p, *workspaces[p]);
      if (progress) progress->advance(static_cast<double>(parts[start + p].size()));
    });
}

template <typename Scalar>
void observe(const ModelConfig& config, const PartOf<Scalar>& part, size_t i, const Observe& observe) {
  const ForwardTensors<Scalar>& out = part.out;
  const int real = part.lengths[i], length = part.length, first = static_cast<int>(i) * length;
  std::vector<double> doubles;
  const auto show = [&](Site site, int layer, int position, std::span<const Scalar> row) {
    doubles.assign(row.begin(), row.end());
    observe(site, layer, position, doubles);
  };
  const auto row_of = [](const nn::Tensor<Scalar>& x, int row) {
    return std::span<const Scalar>(x.row(row), static_cast<size_t>(x.columns));
  };
  const auto rows_of = [&](Site site, int layer, const nn::Tensor<Scalar>& x) {
    for (int t = 0; t < real; ++t) show(site, layer, t, row_of(x, first + t));
  };
  const auto variance_of = [&](Site site, int layer, int position, const Scalar* row) {
    const bool centred =
        config.norm == NormKind::kLayerNorm && !(config.mean_pooling && layer == config.layers);
    doubles.assign(row, row + config.width);
    const double variance =
        nn::norm_moments(doubles.data(), config.width, centred).variance + config.norm_epsilon;
    observe(site, layer, position, {&variance, 1});
  };
  const auto variances_of = [&](Site site, int layer, const nn::Tensor<Scalar>& x) {
    for (int t = 0; t < real; ++t) variance_of(site, layer, t, x.row(first + t));
  };
  for (int n = 0; n < static_cast<int>(out.norm1_inputs.size()); ++n) {
    if (out.norm1_inputs[n].value == nullptr) continue;
    rows_of(Site::kResidual, n, out.residual[n]);
    if (config.block == BlockKind::kPostNorm) rows_of(Site::kSum, n, out.norm1_inputs[n]);
    variances_of(Site::kVariance, n, out.norm1_inputs[n]);
    if (config.block != BlockKind::kParallel) {  // there it is the same x
      rows_of(Site::kSum, n, out.norm2_inputs[n]);
      variances_of(Site::kSecondVariance, n, out.norm2_inputs[n]);
    }
    for (int head = 0; head < config.heads; ++head)
      for (int t = 0; t < real; ++t) {
        show(Site::kScores, n, t, score_row(config, part, i, n, head, t));
        if (config.attention != AttentionKind::kPowerSoftmax) continue;
        const double denominator =
            length_agnostic_denominator(config, doubles.data(), static_cast<int>(doubles.size()));
        observe(Site::kDenominator, n, t, {&denominator, 1});
      }
    rows_of(Site::kGeluInput, n, out.gelu_inputs[n]);
  }
  if (out.residual.size() <= static_cast<size_t>(config.layers)) return;
  rows_of(Site::kResidual, config.layers, out.residual.back());
  const bool classifier = config.classes > 0;  // one row for each example
  if (const nn::Tensor<Scalar>& x = out.final_norm_input; x.value != nullptr) {
    if (config.mean_pooling) show(Site::kSum, config.layers, 0, row_of(x, static_cast<int>(i)));
    if (classifier)
      variance_of(Site::kVariance, config.layers, 0, x.row(static_cast<int>(i)));
    else
      variances_of(Site::kVariance, config.layers, x);
  }
  if (const nn::Tensor<Scalar>& z = out.pooler_inputs; z.value != nullptr)
    show(Site::kPoolerInput, config.layers, 0, row_of(z, static_cast<int>(i)));
}

template void observe(const ModelConfig&, const PartOf<float>&, size_t, const Observe&);
template void observe(const ModelConfig&, const PartOf<double>&, size_t, const Observe&);

}  // namespace psm::attention
