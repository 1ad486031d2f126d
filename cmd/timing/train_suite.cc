#include "cmd/timing/train_suite.h"

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
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
  const auto all_at_once = [&] {
    parallel_for(0, static_cast<size_t>(threads), [&](size_t) { PSM_CHECK(multiply_adds(kRounds) > 0); });
  };
  const double seconds = time_runs(1, 0.3, all_at_once).least;
  return static_cast<double>(kRounds) * round_flops * threads / seconds / 1e9;
}

std::string random_bytes(size_t count) {
  TrainingRandom random(1);
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(random.integer(256)));
  return bytes;
}

void time_steps(const TrainSuiteOptions& options, const train::TextData& data,
                const attention::ModelConfig& model, nn::Precision precision, double peak_gflops,
                Figures& figures) {
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
  const double seconds = times_of(whole).median;
  const double gflops = training_step_flops(model, options.batch) / seconds / 1e9;
  figures.row()
      .both("name", "operation", "training_step")
      .both("attention", "attention", std::string(attention::name_of(model.attention)))
      .both("precision", "precision", nn::name_of(precision))
      .both("backend", "backend", nn::simd_kernels().name)
      .both("threads", "threads", thread_count())
      .number("tokens_per_second", "tokens/s", options.batch * model.context / seconds, "%.0f")
      .number("forward_ms", "forward ms", 1e3 * times_of(forward).median, "%.1f")
      .number("backward_ms", "backward ms", 1e3 * times_of(backward).median, "%.1f")
      .number("optimiser_ms", "optimiser ms", 1e3 * times_of(optimiser).median, "%.1f")
      .number("gflops", "Gflop/s", gflops, "%.1f")
      .number("peak_gflops", "peak", peak_gflops, "%.1f")
      .cell("of peak", percent(gflops / peak_gflops));
}

}  // namespace

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

Figures train_suite(const TrainSuiteOptions& options) {
  PSM_CHECK(options.steps >= 1, options.steps);
  const int all = thread_count();
  const train::TextData data(random_bytes(1 << 16), options.model.context);
  std::vector<int> counts = {1};
  if (all > 1) counts.push_back(all);
  Figures figures;
  for (const int threads : counts) {
    set_thread_count(threads);
    for (const nn::Precision precision : {nn::Precision::kFp32, nn::Precision::kBf16}) {
      const double peak = peak_gflops(threads, precision);
      for (const attention::AttentionKind kind :
           {attention::AttentionKind::kSoftmax, attention::AttentionKind::kPowerSoftmax}) {
        attention::ModelConfig model = options.model;
        model.attention = kind;
        options.starting(message("training_step, ", attention::name_of(kind), ", ", nn::name_of(precision),
                                 ", threads: ", threads));
        time_steps(options, data, model, precision, peak, figures);
      }
    }
  }
  set_thread_count(all);
  return figures;
}

}  // namespace psm::cmd
