#include "cmd/timing/train_suite.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "cmd/terminal/common_flags.h"
#include "nn/kernels/simd_kernels.h"
#include "train/data/text_data.h"
#include "train/stages/trainer.h"

namespace psm::cmd {
namespace {

// The best of many short tries, all threads at once: it may take a tenth of a second until each has a
// processor.
double peak_gflops(int threads, nn::Precision precision) {
  constexpr size_t kRounds = 2'000'000;
  const nn::SimdKernels& kernels = nn::simd_kernels();
  const bool bf16 = precision == nn::Precision::kBf16;
  const auto multiply_adds = bf16 ? kernels.multiply_adds_bf16 : kernels.multiply_adds;
  const int round_flops = bf16 ? kernels.multiply_adds_bf16_flops : kernels.multiply_adds_flops;
  double best = 0;
  for (const double start = seconds_now(); seconds_now() - start < 0.3;) {
    const double begin = seconds_now();
    parallel_for(0, static_cast<size_t>(threads), [&](size_t) { PSM_CHECK(multiply_adds(kRounds) > 0); });
    const double flops = static_cast<double>(kRounds) * round_flops * threads;
    best = std::max(best, flops / (seconds_now() - begin) / 1e9);
  }
  return best;
}

std::string random_bytes(size_t count) {
  TrainingRandom random(1);
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random.integer(256)));
  return bytes;
}

double median_ms(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return 1e3 * seconds[seconds.size() / 2];
}

void time_steps(const TrainSuiteOptions& options, const train::TextData& data, attention::ModelConfig model,
                nn::Precision precision, TrainRow& row) {
  train::TrainerOptions training;
  training.precision = precision;
  training.batch = options.batch;
  train::Trainer trainer(attention::random_weights(model, 1), data, training);
  trainer.step();
  std::vector<double> whole, forward, backward, optimiser;
  for (int i = 0; i < options.steps; ++i) {
    const double begin = seconds_now();
    const train::StepReport report = trainer.step();
    whole.push_back(seconds_now() - begin);
    forward.push_back(report.forward_seconds);
    backward.push_back(report.backward_seconds);
    optimiser.push_back(report.optimiser_seconds);
  }
  const double seconds = median_ms(whole) / 1e3;
  row.tokens_per_second = static_cast<double>(options.batch) * model.context / seconds;
  row.forward_ms = median_ms(forward);
  row.backward_ms = median_ms(backward);
  row.optimiser_ms = median_ms(optimiser);
  row.gflops = training_step_flops(model, options.batch) / seconds / 1e9;
}

}  // namespace

Json TrainRow::json() const {
  Json json;
  json["name"] = name;
  json["attention"] = attention;
  json["precision"] = precision;
  json["threads"] = threads;
  json["backend"] = backend;
  json["tokens_per_second"] = tokens_per_second;
  json["forward_ms"] = forward_ms;
  json["backward_ms"] = backward_ms;
  json["optimiser_ms"] = optimiser_ms;
  json["gflops"] = gflops;
  json["peak_gflops"] = peak_gflops;
  return json;
}

TrainSuiteOptions default_train_suite() {
  TrainSuiteOptions options;
  attention::ModelConfig& model = options.model;
  model.vocab = model.context = model.width = 256;
  model.layers = 6, model.heads = 8, model.ffn = 4 * model.width;
  model.form = attention::PowerForm::kStable;
  return options;
}

double training_step_flops(const attention::ModelConfig& model, int batch) {
  const double d = model.width, tokens = static_cast<double>(batch) * model.context;
  const double pairs = tokens * (model.causal ? (model.context + 1) / 2.0 : model.context);
  const double outside = model.classes > 0 ? batch * d * (model.classes + (model.pooler ? d : 0)) +
                                                 tokens * d * model.patch_inputs
                                           : tokens * d * model.vocab;
  const double products = model.layers * (tokens * d * (4 * d + 2.0 * model.ffn) + 2 * pairs * d) + outside;
  return 3 * 2 * products;
}

std::vector<TrainRow> train_suite(const TrainSuiteOptions& options) {
  PSM_CHECK(options.steps >= 1, options.steps);
  const int all = thread_count();
  const train::TextData data(random_bytes(1 << 16), {.context = options.model.context});
  std::vector<int> counts = {1};
  if (all > 1) counts.push_back(all);
  std::vector<TrainRow> rows;
  for (const int threads : counts) {
    set_thread_count(threads);
    for (const nn::Precision precision : {nn::Precision::kFp32, nn::Precision::kBf16}) {
      const double peak = peak_gflops(threads, precision);
      for (const attention::AttentionKind kind :
           {attention::AttentionKind::kSoftmax, attention::AttentionKind::kPowerSoftmax}) {
        TrainRow row{.name = "training_step",
                     .attention = std::string(attention::name_of(kind)),
                     .precision = nn::name_of(precision),
                     .threads = threads,
                     .backend = nn::simd_kernels().name,
                     .peak_gflops = peak};
        if (options.starting) options.starting(row);
        attention::ModelConfig model = options.model;
        model.attention = kind;
        time_steps(options, data, model, precision, row);
        rows.push_back(std::move(row));
      }
    }
  }
  set_thread_count(all);
  return rows;
}

}  // namespace psm::cmd
