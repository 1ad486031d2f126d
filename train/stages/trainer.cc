#include "train/stages/trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ckks/base/parallel.h"
#include "nn/layers/cross_entropy.h"

namespace psm::train {
namespace {

std::vector<bool> decaying(const attention::ModelConfig& config) {
  std::vector<bool> decays;
  for (const attention::ParameterSlice& slice : attention::parameter_slices(config))
    decays.insert(decays.end(), slice.size(), slice.rows > 1);
  return decays;
}

}  // namespace

// A part of the batch: sequences first .. first + count of it.
struct Trainer::Part {
  Part(const attention::ModelConfig& config, nn::FlatArray& values, nn::Precision precision)
      : grads(values.size()),
        model(config, values.data(), grads.data()),
        tape(nn::Gradients::kKept, precision) {}

  int first = 0, count = 0;
  nn::FlatArray grads;
  attention::Model<float> model;
  nn::Tape<float> tape;
  attention::ForwardTensors<float> out;
  std::vector<int> rows, targets;  // the scored tokens of a language model
  attention::ScoreLosses score_losses;
  nn::Tensor<float> loss;
  double cross_entropy = 0, range_loss = 0;
};

Trainer::Trainer(const attention::ModelWeights& initial, const DataSource& source,
                 const TrainerOptions& options)
    : config_(initial.config),
      source_(source),
      options_(options),
      values_(attention::flatten(initial)),
      grads_(values_.size()),
      adamw_(options.adamw, decaying(config_)),
      random_(options.seed) {
  initial.validate();
  if (source.vocab() > config_.vocab || source.context() > config_.context)
    throw Error(message("the data have ", source.vocab(), " symbols and sequences of ", source.context(),
                        " but the model has a vocabulary of ", config_.vocab, " and a context of ",
                        config_.context, "; train a model of the data's sizes"));
  if (source.classes() != config_.classes || source.patch_inputs() != config_.patch_inputs)
    throw Error(message("the data have ", source.classes(), " classes and patches of ", source.patch_inputs(),
                        " but the model has ", config_.classes, " and ", config_.patch_inputs,
                        " (0: none); train a model of the data's kind"));
  if (options.fixed_score_offset)
    for (const attention::ParameterSlice& slice : attention::parameter_slices(config_))
      if (slice.name.ends_with(".score_offset")) fixed_.push_back(slice);
  if (options.batch < 1) throw Error(message("a batch of ", options.batch, " sequences: give at least 1"));
  for (int p = 0; p < kParts; ++p) {
    parts_.push_back(std::make_unique<Part>(config_, values_, options.precision));
    parts_.back()->first = options.batch * p / kParts;
    parts_.back()->count = options.batch * (p + 1) / kParts - parts_.back()->first;
  }
}

Trainer::~Trainer() = default;

void Trainer::forward(Part& part, double cross_entropy_scale) {
  part.model.begin_gradients();
  part.cross_entropy = part.range_loss = 0;
  part.tape.restart();
  if (part.count == 0) return;
  attention::ModelInput input = batch_.input(part.first, part.count);
  std::span<const int> targets = batch_.scored_by(part.first, part.count);
  part.rows.clear(), part.targets.clear();
  for (int row = 0; config_.classes == 0 && row < static_cast<int>(targets.size()); ++row)
    if (targets[row] >= 0) part.rows.push_back(row), part.targets.push_back(targets[row]);
  if (!part.rows.empty()) input.rows = part.rows, targets = part.targets;
  nn::Tape<float>& tape = part.tape;
  part.score_losses = score_losses_of(options_.ranges, config_, batch_);
  part.out.score_losses = part.score_losses.any() ? &part.score_losses : nullptr;
  part.model.forward(tape, input, part.out);
  const nn::Tensor<float> entropy = nn::cross_entropy(tape, part.out.logits, targets, cross_entropy_scale);
  part.loss =
      add_range_losses(tape, entropy, options_.ranges, config_, part.out, batch_, input, targets.data());
  part.cross_entropy = entropy.value[0];
  part.range_loss = part.loss.value[0] - entropy.value[0];
}

StepReport Trainer::step() {
  const uint64_t random_before = random_.state();
  batch_ = source_.draw(options_.batch, random_);
  const double scale = 1.0 / static_cast<double>(std::max<size_t>(1, batch_.scored()));
  parallel_for(0, parts_.size(), [&](size_t p) { forward(*parts_[p], scale); });
  parallel_for(0, parts_.size(), [&](size_t p) {
    if (parts_[p]->count > 0) parts_[p]->tape.backward(parts_[p]->loss);
    parts_[p]->model.end_gradients();
  });

  constexpr size_t kChunk = 4096;
  parallel_for(0, (grads_.size() + kChunk - 1) / kChunk, [&](size_t chunk) {
    const size_t end = std::min(grads_.size(), (chunk + 1) * kChunk);
    for (size_t i = chunk * kChunk; i < end; ++i) {
      float sum = 0;
      for (const auto& part : parts_) sum += part->grads.data()[i];
      grads_.data()[i] = sum;
    }
  });

  for (const attention::ParameterSlice& slice : fixed_)
    std::ranges::fill(grads_.all().subspan(slice.begin, slice.size()), 0.0f);

  StepReport report;
  for (const auto& part : parts_) {
    report.cross_entropy += part->cross_entropy;
    report.range_loss += part->range_loss;
  }
  const double loss = report.cross_entropy + report.range_loss;
  const double rate = options_.rate.at(adamw_.state().steps);
  const double norm = std::isfinite(loss) ? adamw_.step(values_.all(), grads_.all(), rate) : loss;
  if (!std::isfinite(norm)) {
    random_ = TrainingRandom::resume(random_before);
    throw Diverged(message("training diverged at step ", adamw_.state().steps + 1, " (loss ", loss,
                           ", gradient norm ", norm,
                           "); try a larger --batch, a smaller --power or another --seed",
                           options_.precision == nn::Precision::kBf16 ? ", or --precision fp32" : ""));
  }
  report.step = adamw_.state().steps;
  tokens_ += batch_.real_tokens();
  return report;
}

attention::ModelWeights Trainer::weights() const { return attention::unflatten(config_, values_.all()); }

TrainerState Trainer::state() const {
  const std::span<const float> values = values_.all();
  return {{values.begin(), values.end()}, adamw_.state(), random_.state(), tokens_};
}

void Trainer::set_state(TrainerState state) {
  if (state.values.size() != values_.size() || state.optimiser.m.size() != values_.size() ||
      state.optimiser.v.size() != values_.size())
    throw Error(message("the saved training has ", state.values.size(), " parameters but this model has ",
                        values_.size(), "; resume with the same options as it was started with"));
  std::copy(state.values.begin(), state.values.end(),
            values_.data());  // the parts' models point into values_
  adamw_.set_state(std::move(state.optimiser));
  random_ = TrainingRandom::resume(state.random);
  tokens_ = state.tokens;
}

size_t Trainer::memory_growths() const {
  size_t total = 0;
  for (const auto& part : parts_) total += part->tape.arena().growths();
  return total;
}

}  // namespace psm::train
