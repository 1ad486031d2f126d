// bazel run //cmd:bench -- --suite ckks|kernels|train [flags]: times the encrypted operations, the kernels they are
// made of, or a step of training.
#include <cstdio>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/parallel.h"
#include "ckks/base/processor.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/wire/ciphertext_file.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"
#include "cmd/deployment/deployment.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"
#include "cmd/timing/bench_suite.h"
#include "cmd/timing/kernel_suite.h"
#include "cmd/timing/train_suite.h"

namespace psm {
namespace {

void print(const std::vector<BenchRow>& rows) {
  Table table({"operation", "limbs", "threads", "median ms", "min ms", "roofline ms", "of roofline", "bytes",
               "MACs"});
  for (const BenchRow& row : rows) {
    table.row({row.name, std::to_string(row.limbs), std::to_string(row.threads),
               format("%.4g", row.median_ms), format("%.4g", row.min_ms), format("%.4g", row.roofline_ms),
               format("%.1fx", row.median_ms / row.roofline_ms), bytes_text(row.bytes),
               format("%.3g", row.macs)});
  }
  std::printf("\n%s", table.text().c_str());
  for (const BenchRow& row : rows) {
    if (row.more.empty()) continue;
    std::printf("\n  %s, %d limbs\n", row.name.c_str(), row.limbs);
    for (const auto& [key, value] : row.more) {
      const double number = value.number(key);
      const bool is_bytes = key.size() > 6 && key.compare(key.size() - 6, 6, "_bytes") == 0;
      std::printf("    %-30s %s\n", key.c_str(),
                  (is_bytes ? bytes_text(number) : format("%.4g", number)).c_str());
    }
  }
}

// What stands in files: the operands and the key of a rotation, and the keys of a key pair that bootstraps.
void add_file_sizes(const Context& context, std::vector<BenchRow>& rows) {
  for (BenchRow& row : rows) {
    const auto add = [&](const char* name, uint64_t bytes) { row.more.emplace_back(name, Json(bytes)); };
    if (row.name == "rotate") {
      add("ciphertext_record_bytes", wire::ciphertext_bytes(context, row.limbs - 1));
      add("seeded_ciphertext_record_bytes", wire::seeded_ciphertext_bytes(context, row.limbs - 1));
      add("key_record_bytes", wire::evaluation_key_bytes(context, row.limbs - 1));
    } else if (row.name == "bootstrap_keygen") {
      add("secret_key_file_bytes", wire::secret_key_file_bytes(context));
      add("public_key_file_bytes", wire::public_key_file_bytes(context));
      add("evaluation_keys_file_bytes",
          wire::evaluation_keys_file_bytes(context, BootstrapPlan(context).key_request()));
    }
  }
}

void bench_kernels(int log_n, int repetitions, const CommonFlags& common) {
  std::printf("%s, N = 2^%d, one thread\n", processor_name().c_str(), log_n);
  Table table({"kernel", "backend", "prime bits", "near us", "least", "far us", "least"});
  Json json = Json(Json::Array{});
  for (const KernelRow& row : kernel_suite(log_n, repetitions)) {
    table.row({row.name, row.backend, std::to_string(row.prime_bits), format("%.1f", row.near.median),
               format("%.1f", row.near.least), format("%.1f", row.far.median),
               format("%.1f", row.far.least)});
    json.push_back(row.json());
  }
  std::printf("\n%s", table.text().c_str());
  common.write_json(json);
}

void bench_training(int steps, const CommonFlags& common) {
  TrainSuiteOptions options = default_train_suite();
  options.steps = steps;
  options.starting = [](const TrainRow& row) {
    std::fprintf(stderr, "timing %s, %s, threads: %d\n", row.name.c_str(), row.attention.c_str(),
                 row.threads);
  };
  const ModelConfig& m = options.model;
  std::printf("%s\nd = %d, %d layers, %d heads, context %d, batch %d, vocabulary %d, fp32\n",
              processor_name().c_str(), m.width, m.layers, m.heads, m.context, options.batch, m.vocab);
  Table table({"operation", "attention", "backend", "threads", "tokens/s", "forward ms", "backward ms",
               "optimiser ms", "Gflop/s", "peak", "of peak"});
  Json json = Json(Json::Array{});
  for (const TrainRow& row : train_suite(options)) {
    table.row({row.name, row.attention, row.backend, std::to_string(row.threads),
               format("%.0f", row.tokens_per_second), format("%.1f", row.forward_ms),
               format("%.1f", row.backward_ms), format("%.1f", row.optimiser_ms), format("%.1f", row.gflops),
               format("%.1f", row.peak_gflops), percent(row.gflops / row.peak_gflops)});
    json.push_back(row.json());
  }
  std::printf("\n%s", table.text().c_str());
  common.write_json(json);
}

int bench(int argc, char** argv) {
  Flags flags(
      "bazel run //cmd:bench -- --suite ckks|kernels|train [flags]",
      "Times the operations of the encryption scheme, medians and minima by the clock, beside their\n"
      "roofline: the bytes and the modular multiply-accumulates that each must take, over the memory\n"
      "bandwidth and the multiply-accumulate rate measured on this machine. Takes about a minute.\n"
      "--suite kernels: each kernel of every backend on one thread, its operands in the caches and from "
      "memory.\n"
      "--suite train: a step of training (GPT-NeoX, d = 256, 6 layers), softmax and PowerSoftmax on one "
      "thread\n"
      "and on all, beside the rate of fp32 multiply-adds measured on this machine.");
  const std::string& suite = flags.text("suite", "ckks", "what to time: ckks, kernels or train");
  const int64_t& repetitions = flags.integer("repetitions", 7, 1, 1000, "runs of each operation, at least");
  const int64_t& bootstraps =
      flags.integer("bootstrap-repetitions", 3, 1, 100, "runs of the bootstrap and of making its keys");
  const std::string& commit = flags.text("commit", "", "name of the version that is timed, printed as it is");
  const RingFlags ring(flags);
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  if (suite != "ckks" && suite != "kernels" && suite != "train")
    throw Error(message("--suite ", suite, " is not known; there are: ckks, kernels, train"));
  ring.apply();
  common.apply();
  if (suite == "train") {
    bench_training(static_cast<int>(repetitions), common);
    return 0;
  }

  if (suite == "kernels") {
    bench_kernels(ring.spec().log_n, static_cast<int>(repetitions), common);
    return 0;
  }

  const Context context(ring.spec());
  ring.require_security(context);
  require_memory(ckks_suite_bytes(context));
  std::printf("%s\n%s\nbackend %s, %d threads\n", processor_name().c_str(), context.describe().c_str(),
              kernels().name, thread_count());
  if (!commit.empty()) std::printf("version %s\n", commit.c_str());
  const Machine machine = measure_machine(context.ring());
  std::printf("memory read at %s/s, %.3g modular multiply-accumulates a second\n",
              bytes_text(machine.bytes_per_second).c_str(), machine.macs_per_second);
  for (const int limbs : {10, 20}) {
    std::printf("in memory at %d limbs: a ciphertext %s, a key %s\n", limbs,
                bytes_text(static_cast<double>(context.chain().ciphertext_bytes(limbs - 1))).c_str(),
                bytes_text(static_cast<double>(context.chain().key_bytes(limbs - 1))).c_str());
  }

  BenchOptions options;
  options.repetitions = static_cast<int>(repetitions);
  options.bootstrap_repetitions = static_cast<int>(bootstraps);
  options.starting = [](const char* name) { std::fprintf(stderr, "timing %s\n", name); };
  std::vector<BenchRow> rows = ckks_suite(context, options);
  add_file_sizes(context, rows);
  print(rows);
  Json json = Json(Json::Array{});
  for (const BenchRow& row : rows) json.push_back(row.json());
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::bench(argc, argv); });
}
