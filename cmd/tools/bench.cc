// bazel run //cmd:bench -- --suite ckks|kernels|train|model|device [flags]: times the encrypted operations, the kernels they are
// made of, a step of training, or encrypted passes of a whole model.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/parallel.h"
#include "ckks/base/processor.h"
#include "ckks/ring/kernels/backend.h"
#include "cmd/deployment/deployment.h"
#include "cmd/deployment/published_shapes.h"
#include "cmd/protocol/new_ring_flags.h"
#include "cmd/protocol/required_memory.h"
#include "cmd/reports/ledger_report.h"
#include "cmd/server/device_flag.h"
#include "cmd/server/device_pass.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/timing/bench_suite.h"
#include "cmd/timing/device_suite.h"
#include "cmd/timing/kernel_suite.h"
#include "cmd/timing/model_report.h"
#include "cmd/timing/model_suite.h"
#include "cmd/timing/random_model.h"
#include "cmd/timing/roofline.h"
#include "cmd/timing/train_suite.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {
namespace {

void say(const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); }

void print(const Figures& figures) { std::printf("\n%s", figures.table().text().c_str()); }

void finish(const Figures& figures, const CommonFlags& common) {
  print(figures);
  common.write_json(figures.json());
}

// The model that --suite model takes, and --suite device where it is given one.
struct ModelFlags {
  explicit ModelFlags(Flags& flags)
      : shape(flags, "pythia-70m"),
        seed(flags.integer("seed", 1, 1, INT64_MAX,
                           "--suite model: of weights and prompts; keys take no seed")),
        model(flags.text("model", "", "--suite model, device: a polynomial model in place of a shape")),
        text(flags.text("text", "",
                        "--suite model: prompts of a text model are windows of this text's last tenth")),
        prompts(flags.integer("prompts", 0, 0, 4096,
                              "--suite model: prompts in a pass; 0: as many as share ciphertexts")),
        ledger(flags) {}

  void require(const Flags& flags, const std::string& suite) const {
    const bool is_model = suite == "model", is_device = suite == "device";
    for (const char* name : {"shape", "tokens", "layers", "model"})
      if (!is_model && !is_device && flags.given(name))
        throw Error(message("--", name, " is for --suite model and --suite device"));
    for (const char* name : {"seed", "text", "prompts", "ledger"})
      if (!is_model && flags.given(name)) throw Error(message("--", name, " is for --suite model"));
    for (const char* name : {"shape", "tokens", "layers"})
      if (flags.given("model") && flags.given(name))
        throw Error(message("--", name, " is for shapes; --model has its own"));
    if (!text.empty() && model.empty()) throw Error("--text is for a --model that was trained on text");
    if ((is_model || is_device) && model.empty()) config();
    ledger.apply();
  }

  // Returns the shape's configuration. The embedding is the client's: the vocabulary's size changes nothing.
  attention::ModelConfig config() const {
    constexpr int kVocabulary = 2048;
    attention::ModelConfig config = shape.config();
    if (config.classes > 0)
      throw Error(message(shape.published().what, " is a classifier; a pass is timed of language models"));
    config.vocab = kVocabulary;
    return config;
  }

  const ShapeFlags shape;
  const int64_t& seed;
  const std::string& model;
  const std::string& text;
  const int64_t& prompts;
  const LedgerFlag ledger;
};

// A model that is ready to run, and its prompts.
struct ModelToTime {
  std::unique_ptr<Deployment> deployment;
  std::vector<std::vector<int>> prompts;
};

ModelToTime shape_to_time(const ModelFlags& flags, const ckks::Context& context) {
  const attention::ModelConfig config = flags.config();
  const int shared =
      attention::make_packing(config, config.context, static_cast<size_t>(context.slots())).prompts;
  const int prompts = flags.prompts > 0 ? static_cast<int>(flags.prompts) : shared;
  RandomModel model = random_model(config, static_cast<uint64_t>(flags.seed), prompts);
  return {std::make_unique<Deployment>(model.checkpoint, context), std::move(model.prompts)};
}

ModelToTime file_to_time(const ModelFlags& flags, const ckks::Context& context) {
  const attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(flags.model));
  if (checkpoint.weights.config.classes > 0)
    throw Error(message(flags.model, " is a classifier; a pass is timed of language models"));
  const Task task = Task::of(checkpoint, {.text = resolve_user_path(flags.text)});
  ModelToTime out{std::make_unique<Deployment>(checkpoint, context), {}};
  const auto wanted =
      static_cast<size_t>(flags.prompts > 0 ? flags.prompts : out.deployment->packing.prompts);
  out.prompts = task.test(static_cast<int>(wanted)).texts();
  if (out.prompts.size() < wanted)
    throw Error(message("the text held out has ", out.prompts.size(), " windows, not ", wanted));
  out.prompts.resize(wanted);
  return out;
}

void bench_device(const DeviceFlag& flag, const Flags& flags, const ModelFlags& model, const RingFlags& ring,
                  int repetitions, const CommonFlags& common) {
  const std::unique_ptr<ckks::Device> device = flag.open();
  const auto context = std::make_shared<const ckks::Context>(ring.spec());
  ring.require_security(*context);
  if (device) require_memory(ckks_suite_bytes(*context));
  std::printf("%s\n%s\ndevice: %s\n", processor_name().c_str(), context->describe().c_str(),
              device ? flag.name.c_str() : "none, counts alone (--device measures)");
  Json json;
  json["parameters"] = context->spec().name;
  json["device"] = device ? flag.name : "none";
  json["processor"] = processor_name();
  const std::vector<DeviceRow> suite =
      device_suite(*context, device.get(), {.repetitions = repetitions, .starting = say});
  const Figures operations = device_figures(suite);
  print(operations);
  json["operations"] = operations.json();
  std::printf("\n%s", log_table("a bootstrap", suite.back().log).c_str());
  if (device)
    std::printf("peak %s of device memory\n", bytes_text(static_cast<double>(device->peak_bytes())).c_str());
  if (flags.given("shape") || flags.given("model")) {
    say("counting a pass of the model");
    const ModelToTime made =
        model.model.empty() ? shape_to_time(model, *context) : file_to_time(model, *context);
    const DevicePass pass = count_pass(*made.deployment);
    std::printf("\n%s", pass_report(made.deployment->plan.bootstraps, pass).c_str());
    json["pass"] = pass.json();
  }
  std::printf("predicted: by an H200's data sheet (ckks/device/device.h)\n");
  common.write_json(json);
}

void bench_model(const DeviceFlag& device_flag, const ModelFlags& flags, const RingFlags& ring,
                 ModelSuiteOptions options, const CommonFlags& common) {
  const std::unique_ptr<ckks::Device> device = device_flag.open();
  options.device = device.get();
  const auto context = std::make_shared<const ckks::Context>(ring.spec());
  ring.require_security(*context);
  options.starting = say;
  say("the model: weights, ranges, polynomials, plan");
  ModelToTime model = flags.model.empty() ? shape_to_time(flags, *context) : file_to_time(flags, *context);
  Deployment& deployment = *model.deployment;
  deployment.model.weights.layers.clear();  // the plan has them in slot order
  const attention::ModelConfig& config = deployment.model.weights.config;
  const std::string name = flags.model.empty() ? flags.shape.shape : flags.model;
  const std::string title =
      message(name, ": ", config.layers, " layers, d = ", config.width, ", ", config.heads, " heads, ",
              deployment.packing.tokens, " tokens, ", counted(model.prompts.size(), "prompt"));
  std::printf("%s\n%s\nbackend %s, %d threads\n%s\n", processor_name().c_str(), context->describe().c_str(),
              ckks::kernels().name, thread_count(), title.c_str());
  std::fflush(stdout);
  const ModelTimes times = model_suite(deployment, model.prompts, options);
  const bool as_in_paper = flags.model.empty() && name == "pythia-70m" && config.layers == 6 &&
                           deployment.packing.tokens == 128 && model.prompts.size() == 1;
  const ModelRun run{name, as_in_paper, deployment, model.prompts.size(), times};
  const ModelReport report = model_report(run);
  std::printf("\n%s", report.text.c_str());
  std::vector<std::string> facts = times.figures.lines();
  facts.insert(facts.begin(), {title, context->describe()});
  facts.push_back("seconds are of the median warm pass, measured errors of the last");
  flags.ledger.write({.title = "The ledger of an encrypted pass",
                      .facts = std::move(facts),
                      .figures = report.json,
                      .ledger = times.ledger});
  common.write_json(report.json);
}

int bench(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:bench -- --suite ckks|kernels|train|model|device [flags]",
      "Times the operations of the encryption scheme, medians and minima by the clock, beside their\n"
      "roofline: the bytes and the modular multiply-accumulates that each must take, over the memory\n"
      "bandwidth and the multiply-accumulate rate measured on this machine. Takes about a minute.\n"
      "--suite kernels: each kernel of every backend on one thread, its operands in the caches and from "
      "memory.\n"
      "--suite train: a step of training (GPT-NeoX, d = 256, 6 layers), softmax and PowerSoftmax on one "
      "thread\n"
      "and on all, products of fp32 and of bf16, beside the rate of multiply-adds measured on this machine.\n"
      "--suite model: encrypted passes of a whole model, a shape with random weights or a trained one: the "
      "first,\n"
      "warm ones and bootstraps between them; seconds by what is computed and by operation, memory, and the "
      "answer\n"
      "beside the twin's. Pythia 70M takes some twenty minutes on two cores and 12 GB.\n"
      "--suite device: a transform, a rotation, a product and a bootstrap on a GPU: launches, bytes, "
      "products and "
      "the\n"
      "time that they predict, and of a model's pass if one is given, without a GPU; on --device the time "
      "taken "
      "and\n"
      "whether the bits are the processor's.");
  const std::string& suite =
      flags.text("suite", "ckks", "what to time: ckks, kernels, train, model or device");
  const int64_t& repetitions =
      flags.integer("repetitions", 7, 1, 1000,
                    "runs of each operation, at least; of --suite model warm passes, 3 unless given");
  const int64_t& bootstraps =
      flags.integer("bootstrap-repetitions", 3, 1, 100,
                    "runs of the bootstrap and of making its keys; of --suite model after each pass");
  const ModelFlags model(flags);
  const RingFlags ring(flags);
  const DeviceFlag device(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  if (suite != "ckks" && suite != "kernels" && suite != "train" && suite != "model" && suite != "device")
    throw Error(message("--suite ", suite, " is not known; there are: ckks, kernels, train, model, device"));
  if (suite != "device" && suite != "model" && flags.given("device"))
    throw Error("--device is for --suite device and --suite model");
  model.require(flags, suite);
  ring.apply();
  common.apply();
  if (suite == "model") {
    ModelSuiteOptions options;
    if (flags.given("repetitions")) options.repetitions = static_cast<int>(repetitions);
    options.bootstrap_repetitions = static_cast<int>(bootstraps);
    bench_model(device, model, ring, options, common);
    return 0;
  }
  if (suite == "device") {
    bench_device(device, flags, model, ring, static_cast<int>(repetitions), common);
    return 0;
  }
  if (suite == "train") {
    TrainSuiteOptions options = default_train_suite();
    options.steps = static_cast<int>(repetitions);
    options.starting = [](const std::string& what) { say("timing " + what); };
    const attention::ModelConfig& m = options.model;
    std::printf("%s\nd = %d, %d layers, %d heads, context %d, batch %d, vocabulary %d\n",
                processor_name().c_str(), m.width, m.layers, m.heads, m.context, options.batch, m.vocab);
    finish(train_suite(options), common);
    return 0;
  }
  if (suite == "kernels") {
    std::printf("%s, N = 2^%d, one thread\n", processor_name().c_str(), ring.spec().log_n);
    finish(kernel_suite(ring.spec().log_n, static_cast<int>(repetitions)), common);
    return 0;
  }

  const ckks::Context context(ring.spec());
  ring.require_security(context);
  require_memory(ckks_suite_bytes(context));
  std::printf("%s\n%s\nbackend %s, %d threads\n", processor_name().c_str(), context.describe().c_str(),
              ckks::kernels().name, thread_count());
  const MachineRates machine = measure_machine(context.ring());
  std::printf("memory read at %s/s, %.3g modular multiply-accumulates a second\n",
              bytes_text(machine.bytes_per_second).c_str(), machine.macs_per_second);
  for (const int limbs : {10, 20}) {
    std::printf(
        "in memory at %d limbs: a ciphertext %s, a key %s\n", limbs,
        bytes_text(static_cast<double>(context.chain().ciphertext_bytes(ckks::level_of({limbs, 0})))).c_str(),
        bytes_text(static_cast<double>(context.chain().key_bytes(ckks::level_of({limbs, 0})))).c_str());
  }

  const BenchFigures figures = ckks_suite(context, {.repetitions = static_cast<int>(repetitions),
                                                    .bootstrap_repetitions = static_cast<int>(bootstraps),
                                                    .starting = say});
  finish(figures.operations, common);
  print(figures.details);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::bench(argc, argv); });
}
