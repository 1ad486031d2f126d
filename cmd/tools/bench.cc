// bazel run //cmd:bench -- --suite NAME [flags]: times the encrypted operations, the kernels they are made of, or
// encrypted passes of a whole model. kSuites is the registry.
#include <algorithm>
#include <memory>
#include <ranges>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/joined.h"
#include "ckks/base/memory.h"
#include "ckks/base/parallel.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/ring/kernels/backend.h"
#include "cmd/compiler/shapes.h"
#include "cmd/deployment/deployment.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/reports/ledger_report.h"
#include "cmd/server/device.h"
#include "cmd/server/memory_flag.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/units.h"
#include "cmd/timing/suites.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {
namespace {

void print_table(const Figures& figures) { print("\n", figures.table().text()); }

// What a suite is told.
struct Bench {
  Command& flags;
  const int64_t& repetitions =
      flags.integer("repetitions", 7, 1, 1000,
                    "runs of each operation, at least; of --suite model warm passes, 3 unless given");
  const int64_t& bootstraps =
      flags.integer("bootstrap-repetitions", 3, 1, 100,
                    "runs of the bootstrap and of making its keys; of --suite model after each pass");
  const ShapeFlags shape{flags, "pythia-70m"};
  const int64_t& seed =
      flags.integer("seed", 1, 1, INT64_MAX, "of a shape's weights and prompts; keys take no seed");
  const std::string& model = flags.text("model", "", "a polynomial model in place of a shape");
  const std::string& text =
      flags.text("text", "", "prompts of a text model are windows of this text's last tenth");
  const int64_t& prompts =
      flags.integer("prompts", 0, 0, 4096, "prompts in a pass; 0: as many as share ciphertexts");
  const LedgerFlag ledger{flags};
  const RingFlags ring{flags};
  const DeviceFlag device{flags};

  // Says what computes, and with which parameters.
  std::unique_ptr<const ckks::Context> context() const {
    device.select_kernels();
    auto made = std::make_unique<const ckks::Context>(ring.spec());
    ring.require_security(*made);
    print(processor_name(), "\n", made->describe(), "\nbackend ", ckks::kernels().name, ", ", thread_count(),
          " threads\n");
    return made;
  }
  // `usual`: repetitions unless they are given; 0: the flag's.
  SuiteOptions options(int usual = 0) const {
    const bool given = usual == 0 || flags.given("repetitions");
    return {given ? static_cast<int>(repetitions) : usual, static_cast<int>(bootstraps)};
  }
  // The shape's. The embedding is the client's: the vocabulary's size changes nothing.
  attention::ModelConfig config() const {
    constexpr int kVocabulary = 2048;
    attention::ModelConfig config = shape.config();
    if (config.vocab > 0) config.vocab = kVocabulary;
    return config;
  }
};

// The checkpoint of --model, which is no classifier.
attention::Checkpoint model_of(const Bench& bench) {
  attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(bench.model));
  if (checkpoint.weights.config.classes > 0)
    throw Error(message(bench.model, " is a classifier; a pass is timed of language models"));
  return checkpoint;
}

// A model that is ready to run, and its prompts.
struct ModelToTime {
  std::unique_ptr<Deployment> deployment;
  std::vector<std::vector<int>> prompts;
};

ModelToTime model_to_time(const Bench& bench, const ckks::Context& context) {
  if (bench.model.empty()) {
    const attention::ModelConfig config = bench.config();
    const int shared =
        attention::make_packing(config, config.context, static_cast<size_t>(context.slots())).prompts;
    RandomModel model = random_model(config, static_cast<uint64_t>(bench.seed),
                                     bench.prompts > 0 ? static_cast<int>(bench.prompts) : shared);
    return {std::make_unique<Deployment>(model.checkpoint, context), std::move(model.prompts)};
  }
  const attention::Checkpoint checkpoint = model_of(bench);
  const Task task = Task::of(checkpoint, {.text = resolve_user_path(bench.text)});
  ModelToTime out{std::make_unique<Deployment>(checkpoint, context), {}};
  const auto wanted =
      static_cast<size_t>(bench.prompts > 0 ? bench.prompts : out.deployment->packing.prompts);
  out.prompts = task.test(static_cast<int>(wanted)).texts();
  if (out.prompts.size() < wanted)
    throw Error(message("the text held out has ", out.prompts.size(), " windows, not ", wanted));
  out.prompts.resize(wanted);
  return out;
}

Json time_ckks(const Bench& bench) {
  const auto context = bench.context();
  require_memory(ckks_suite_bytes(*context));
  for (const int limbs : {10, 20}) {
    const ckks::Level level = ckks::level_of({limbs, 0});
    print("in memory at ", limbs, " limbs: a ciphertext ",
          bytes_text(static_cast<double>(context->chain().ciphertext_bytes(level))), ", a key ",
          bytes_text(static_cast<double>(context->chain().key_bytes(level))), "\n");
  }
  const Figures figures = ckks_suite(*context, bench.options());
  print_table(figures);
  return figures.json();
}

Json time_kernels(const Bench& bench) {
  const auto context = bench.context();
  const std::string in_use = ckks::kernels().name;
  Figures figures;
  for (const ckks::Kernels* backend : ckks::available_backends()) {
    ckks::select_backend(backend->name);
    const program::Calibration machine = program::calibrate(*context);
    for (size_t k = 0; k < program::kWorkKindCount; ++k)
      figures.row()
          .both("name", "kernel", program::name(static_cast<program::WorkKind>(k)))
          .both("backend", "backend", backend->name)
          .number("limb_us", "us a limb", 1e6 * machine.kernels.seconds[k], "%.2f")
          .cell("", machine.caveat());
  }
  ckks::select_backend(in_use);
  print_table(figures);
  return figures.json();
}

Json time_model(const Bench& bench) {
  const std::unique_ptr<ckks::Device> device = bench.device.open();
  const auto context = bench.context();
  say("the model: weights, ranges, polynomials, plan");
  ModelToTime model = model_to_time(bench, *context);
  Deployment& deployment = *model.deployment;
  deployment.model.weights.layers.clear();  // the plan has them in slot order
  const attention::ModelConfig& config = deployment.model.weights.config;
  const std::string name = bench.model.empty() ? bench.shape.shape : bench.model;
  const std::string title =
      message(name, ": ", config.layers, " layers, d = ", config.width, ", ", config.heads, " heads, ",
              deployment.packing.tokens, " tokens, ", counted(model.prompts.size(), "prompt"));
  print(title, "\n");
  ModelTimes times = model_suite(deployment, name, model.prompts, device.get(), bench.options(3));
  print("\n", times.text);
  times.run.row()
      .cell("model", title)
      .cell("parameters", context->describe())
      .cell("seconds", "are of the median warm pass, measured errors of the last");
  bench.ledger.write(
      {.title = "The ledger of an encrypted pass", .figures = times.run, .ledger = times.ledger});
  return times.json;
}

Json time_device(const Bench& bench) {
  const std::unique_ptr<ckks::Device> device = bench.device.open();
  const auto context = bench.context();
  if (device) require_memory(ckks_suite_bytes(*context));
  print("device: ", device ? bench.device.name.c_str() : "none, counts alone (--device measures)", "\n");
  const DeviceTimes times = device_suite(*context, device.get(), bench.options());
  print_table(times.operations);
  print_table(log_figures("a bootstrap", times.bootstrap));
  if (device) print("peak ", bytes_text(static_cast<double>(device->peak_bytes())), " of device memory\n");
  Json json = Json::Object{{"parameters", context->spec().name},
                           {"device", device ? bench.device.name : "none"},
                           {"processor", processor_name()},
                           {"operations", times.operations.json()}};
  const auto given = [&](const char* flag) { return bench.flags.given(flag); };
  if (given("shape") || given("tokens") || given("layers") || given("model")) {
    say("counting a pass of the model");
    const auto counted = bench.model.empty() ? model_to_time(bench, *context).deployment
                                             : std::make_unique<Deployment>(model_of(bench), *context);
    const DevicePass pass = count_pass(*counted);
    print_table(log_figures("a pass", pass.run));
    const Figures figures = pass.figures();
    print(figures.lines());
    json["pass"] = figures.object();
  }
  print("predicted: by an H200's data sheet (ckks/device/device.h)\n");
  return json;
}

struct Suite {
  const char *name, *what;
  std::vector<std::string> flags;  // of those that not all suites take
  Json (*run)(const Bench&);
};

const std::vector<Suite> kSuites{
    {"ckks",
     "operations of the scheme and its bootstrap, medians and minima by the clock; about a minute",
     {},
     time_ckks},
    {"kernels",
     "what a limb of each kernel takes with every backend, as predictions count it",
     {},
     time_kernels},
    {"model",
     "encrypted passes of a whole model, a shape with random weights or a trained one: the first, warm "
     "ones and bootstraps between them; seconds by operation, memory, and the "
     "answer compared with the twin's; Pythia 70M takes minutes on two cores, and 12 GB of memory",
     {"shape", "tokens", "layers", "model", "seed", "text", "prompts", "ledger", "device"},
     time_model},
    {"device",
     "a transform, a rotation, a product and a bootstrap on a GPU: launches, bytes, products and the time "
     "that they predict, and of a model's pass if one is given, without a GPU; on --device the time taken "
     "and whether the bits are the processor's",
     {"shape", "tokens", "layers", "model", "device"},
     time_device}};

// Refuses flags that the suite does not take.
void require_flags(const Flags& flags, const Suite& suite) {
  for (const char* name :
       {"shape", "tokens", "layers", "model", "seed", "text", "prompts", "ledger", "device"}) {
    if (!flags.given(name) || std::ranges::find(suite.flags, name) != suite.flags.end()) continue;
    const auto takes = [&](const Suite& other) {
      return std::ranges::find(other.flags, name) != other.flags.end();
    };
    throw Error(message("--", name, " is for --suite ",
                        joined(kSuites | std::views::filter(takes), " and --suite ", &Suite::name)));
  }
}

int bench(int argc, char** argv) {
  const std::string names = joined(kSuites, ", ", &Suite::name);
  std::string help = "Times one of these:";
  for (const Suite& suite : kSuites) help += message("\n", suite.name, ": ", suite.what);
  Command flags("bazel run //cmd:bench -- --suite NAME [flags]", help);
  const std::string& name = flags.text("suite", "ckks", "what to time: " + names);
  const Bench bench{flags};
  flags.begin(argc, argv);
  const auto suite = std::ranges::find(kSuites, name, &Suite::name);
  if (suite == kSuites.end()) throw Error(message("--suite ", name, " is not known; there are: ", names));
  require_flags(flags, *suite);
  if (!bench.model.empty()) bench.shape.require_none();
  if (!bench.text.empty() && bench.model.empty())
    throw Error("--text is for a --model that was trained on text");
  if (flags.given("seed") && !bench.model.empty())
    throw Error("--seed is for a shape; the prompts of a --model are held-out ones");
  if (std::ranges::find(suite->flags, "shape") != suite->flags.end() && bench.model.empty()) bench.config();
  bench.flags.write_json(suite->run(bench));
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::bench, argc, argv); }
