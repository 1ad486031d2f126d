// Table softmax_methods_comparison: what the forms of attention weights cost on ciphertexts, in the
// transformer's packing, all by the same rules.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "attention/encrypted/query_block.h"
#include "ckks/base/error.h"
#include "ckks/base/progress.h"
#include "ckks/base/random/training_random.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/secret_key.h"
#include "cmd/deployment/deployment.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/experiments/softmax_methods.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {
namespace {

// What is trained: the rows of its scores are what all forms weigh.
constexpr int kLayers = 2, kWidth = 128, kHeads = 4, kRowSequences = 16;
constexpr int kPowers[] = {2, 4, 8};

// What is predicted and run: attention of Pythia-70M, T tokens to a ciphertext.
constexpr int kTokens = 128;
const attention::ModelConfig kPythia{
    .vocab = 2, .context = kTokens, .layers = 1, .width = 512, .heads = 8, .ffn = 2048};
constexpr int kPythiaLayers = 6;
// Scores, values and what comes of them stand at this many levels below the highest: query, key and value
// took one, the scores two.
constexpr int kLevelsBefore = 3;
constexpr int kKeyBlocks[] = {1, 2, 4, 8};  // of a context of 1,024; between them costs are linear

// Calibrates this machine once for all readings; readings are JSON that a resumed run finds again.
program::KernelSeconds kernel_seconds(StudyContext& context, const ckks::Context& crypto) {
  const Json stored = context.once("kernels", [&] {
    Json seconds = Json(Json::Array{});
    for (const double each : program::calibrate(crypto).kernels.seconds) seconds.push_back(each);
    return seconds;
  });
  program::KernelSeconds kernels;
  const Json::Array& values = stored.array("kernels");
  if (values.size() != kernels.seconds.size()) throw Error(message("kernels: ", values.size(), " figures"));
  for (size_t i = 0; i < values.size(); ++i) kernels.seconds[i] = values[i].number("kernels");
  return kernels;
}

double number(const Json& reading, const char* member) {
  return reading.at(member, "a reading").number(member);
}

struct PaperSeconds {
  const char* model;
  int heads, layers, tokens;
  double taylor, squares, power;  // on one A100
};
constexpr PaperSeconds kPaper[] = {{"Pythia 70M", 8, 6, 128, 3.6, 7.42, 2.7},
                                   {"Pythia 70M", 8, 6, 1024, 83.9, 173.4, 8.6},
                                   {"Pythia 1.4B", 16, 24, 128, 19.4, 42.1, 11.1},
                                   {"Pythia 1.4B", 16, 24, 1024, 662.3, 1371.6, 51.8},
                                   {"Llama 7B", 32, 32, 128, 46.1, 84.05, 16.6}};

ScoredModels trained_models(StudyContext& context) {
  const TextStudy text(context);
  attention::ModelConfig shape = text.model(attention::AttentionKind::kSoftmax, kLayers, kWidth);
  shape.heads = kHeads;
  const size_t steps = context.steps((2 + 1.5 * static_cast<double>(std::size(kPowers))) * text.flops(shape));
  const train::Batch held_out = text.data().validation(kRowSequences);
  const auto scored = [&](const Trained& trained) {
    return ScoredModel{.config = trained.weights.config,
                       .scores = score_rows(trained.weights, held_out),
                       .perplexity = format("%.3f", perplexity(trained.final))};
  };
  const auto with = [&](attention::AttentionKind kind, int power) {
    attention::ModelConfig config = shape;
    config.attention = kind, config.power = power;
    return config;
  };
  ScoredModels models;
  models.softmax = scored(text.train("softmax", shape, steps).first());
  models.scaled_softmax = scaled_down(models.softmax);
  models.relu =
      scored(text.train("scaled ReLU", with(attention::AttentionKind::kScaledRelu, 4), steps).first());
  for (const int p : kPowers) {
    const Trainings trained =
        text.train(message("p = ", p), with(attention::AttentionKind::kPowerSoftmax, p), steps);
    const Trained ranged =
        text.minimise_ranges(message("costs-p", p, "-ranges"), trained.first().weights,
                             train::text_range_losses(), std::max<size_t>(4, steps / 2), 1);
    models.powers.push_back(scored(ranged));
  }
  return models;
}

// Attention of one block of queries by a method, as a plan in which scores and values come in and their sums
// go out at one level.
struct BlockPlan {
  attention::QueryBlock block;
  attention::RowPacking packing;
  attention::RowProgram rows;
  double unit = 1;
  program::Program program;
  program::Plan plan;

  BlockPlan(const SoftmaxMethod& method, int key_blocks, const ckks::Context& crypto,
            const program::CostModel& costs)
      : block(kPythia, kTokens, static_cast<size_t>(crypto.slots()), key_blocks),
        packing(block.rows(method.score_bound)) {
    packing.length_root = method.length_root;
    rows = method.row.in_slots(packing);
    program::Builder builder(packing.slots);
    program::LevelBudget budget = program::budget_of(crypto);
    const ckks::Level level = ckks::Level::at(crypto.compute_level() - kLevelsBefore);
    std::vector<program::Value> scores, values;
    for (int i = 0; i < block.score_ciphertexts(); ++i) {
      budget.carried.emplace(score_name(i), level);
      scores.push_back(builder.input(score_name(i), /*real=*/true));
    }
    for (int l = 0; l < key_blocks; ++l) {
      budget.carried.emplace(value_name(l), level);
      values.push_back(builder.input(value_name(l)));
    }
    const attention::QueryBlock::Output sums = block.attend(builder, rows, scores, values);
    unit = sums.unit;
    budget.carried.emplace("sums", level);
    builder.output("sums", sums.sum);
    program = std::move(builder).finish();
    plan = program::plan(program, budget, costs);
  }

  static std::string score_name(int i) { return message("scores ", i); }
  static std::string value_name(int l) { return message("values ", l); }

  // From the scores to the divided sums.
  int levels() const {
    std::vector<int> level(static_cast<size_t>(program.value_count()), -1);
    for (const program::NamedValue& input : program.inputs)
      if (input.name.starts_with("scores")) level[input.value.id] = 0;
    for (const program::Instruction& instruction : program.instructions) {
      if (instruction.opcode == program::Opcode::kInput) continue;
      const bool refresh = instruction.opcode == program::Opcode::kRefresh;
      int deepest = -1;
      for (const program::Value argument : instruction.arguments)
        deepest = std::max(deepest, level[argument.id]);
      for (size_t i = 0; i < instruction.results.size(); ++i) {
        int& result = level[instruction.results[i].id];
        if (refresh) {
          result = level[instruction.arguments[i].id];
        } else if (deepest >= 0) {
          result = deepest + program::depth(instruction);
        }
      }
    }
    return level[program.outputs.front().value.id];
  }
};

Json metered(const SoftmaxMethod& method, int key_blocks, const ckks::Context& crypto,
             const program::CostModel& costs) {
  const BlockPlan block(method, key_blocks, crypto, costs);
  const program::MeterReading reading = program::meter(block.plan, costs);
  const program::Counts& c = reading.counts;
  double own = 0;  // of the weights alone; the values' products are every method's
  for (const program::BlockFigures& figures : reading.blocks)
    if (figures.block.starts_with("weights")) own += figures.seconds;
  return Json::Object{
      {"levels", block.levels()},
      {"key_switches", c.hoisted_key_switches + c.full_key_switches + c.relinearisations + c.conjugations},
      {"products", c.ciphertext_products},
      {"bootstraps", block.plan.bootstraps},
      {"seconds", reading.seconds},
      {"seconds_of_weights", own}};
}

// By what values are divided for their sums to stay within 1: weights of scaled ReLU have any sum.
double largest_sum(const SoftmaxMethod& method) {
  double largest = 1;
  for (const auto& head : method.scores->heads)
    for (std::vector<double> row : head) {
      method.row.evaluate(row);
      largest = std::max(largest, std::accumulate(row.begin(), row.end(), 0.0));
    }
  return largest;
}

// The slots that go in: held-out rows of the model, the first heads' ones, and values that are drawn.
std::map<std::string, program::SlotVector> inputs_of(const BlockPlan& block, const SoftmaxMethod& method,
                                                     double divisor) {
  std::vector<std::vector<double>> rows(block.packing.slots / block.packing.places);
  for (int t = 0; t < kTokens; ++t)
    for (int h = 0; h < block.block.heads(); ++h)
      rows[block.block.row_of(t, h)] = method.scores->heads[static_cast<size_t>(h)][static_cast<size_t>(t)];
  std::map<std::string, program::SlotVector> inputs;
  int next = 0;
  for (auto& slots : attention::pack_rows(block.packing, block.rows.input_scale, rows))
    inputs[BlockPlan::score_name(next++)] = std::move(slots);
  TrainingRandom random(1);
  program::SlotVector values(block.packing.slots);
  for (ckks::Complex& v : values) v = {random.uniform(-1, 1) / divisor, random.uniform(-1, 1) / divisor};
  inputs[BlockPlan::value_name(0)] = std::move(values);
  return inputs;
}

// One block of queries over its own keys on real ciphertexts, with fresh keys: seconds of the second pass, and
// the error of the sums of values up to 1 against the twin.
Json measured(const SoftmaxMethod& method, const ckks::Context& crypto, const program::CostModel& costs) {
  const BlockPlan block(method, 1, crypto, costs);
  const double divisor = kMethodMargin * largest_sum(method);
  const auto inputs = inputs_of(block, method, divisor);
  const program::SlotVector clear = program::run_twin(block.plan.program, inputs).outputs.at("sums");
  const ckks::BootstrapPlan bootstrap(crypto);
  // With all plaintexts kept, as a server with many prompts would.
  const program::MeterReading reading = program::meter(block.plan, costs);
  require_memory(static_cast<size_t>(reading.peak_bytes() + reading.plaintext_bytes));
  const auto secret = ckks::SecretKey::generate(crypto);
  ckks::KeyGenerator generator(secret);
  const ckks::PublicKey public_key = generator.public_key();
  ckks::EvaluationKeys keys;
  {
    Progress progress("generating keys", 1);
    keys = generator.evaluation_keys(
        program::key_request(block.plan, block.plan.bootstraps > 0 ? &bootstrap : nullptr),
        [&](int done, int total) { progress.set(1.0 * done / total); });
  }
  const ckks::Encoder encoder(crypto);
  const ckks::Evaluator evaluator(crypto, keys);
  const ckks::Bootstrapper bootstrapper(crypto, encoder);
  program::EncryptedMachine machine(block.plan, encoder, evaluator, &bootstrapper,
                                    {.encoded_bytes = static_cast<size_t>(2 * reading.plaintext_bytes)});
  ckks::Encryptor encryptor(crypto, public_key);
  std::map<std::string, ckks::Ciphertext> encrypted;
  for (size_t i = 0; i < block.plan.program.inputs.size(); ++i) {
    const std::string& name = block.plan.program.inputs[i].name;
    encrypted.emplace(name, encryptor.encrypt(encoder.encode(inputs.at(name), block.plan.input_levels[i])));
  }
  program::RunResult result;
  double seconds = 0;
  for (int pass = 0; pass < 2; ++pass) {
    Progress progress(message(method.name, pass == 0 ? ", first pass" : ", second pass"),
                      static_cast<double>(block.plan.program.instructions.size()));
    program::RunOptions options;
    options.progress = [&](size_t done, size_t) { progress.set(static_cast<double>(done)); };
    const double begin = seconds_now();
    result = machine.run(encrypted, options);
    seconds = seconds_now() - begin;
  }
  const ckks::Decryptor decryptor(secret, encoder);
  const program::SlotVector found = decryptor.decrypt(result.outputs.at("sums"));
  double squares = 0;
  for (size_t s = 0; s < clear.size(); ++s) squares += std::norm(found[s] - clear[s]);
  return Json::Object{
      {"seconds", seconds},
      {"error", divisor * block.unit * std::sqrt(squares / static_cast<double>(clear.size()))}};
}

// Seconds of a context of kKeyBlocks.back() blocks: every block of queries over its own keys and those before.
double long_context(const std::vector<Json>& readings, const char* member) {
  double sum = 0;
  for (size_t i = 0; i < readings.size(); ++i) {
    sum += number(readings[i], member);
    if (i + 1 == readings.size()) break;
    const int apart = kKeyBlocks[i + 1] - kKeyBlocks[i];
    for (int step = 1; step < apart; ++step)
      sum += std::lerp(number(readings[i], member), number(readings[i + 1], member), 1.0 * step / apart);
  }
  return sum;
}

// Predicted seconds of the weights, for 128 and for 1,024 tokens.
struct Costs {
  double short_seconds, long_seconds;
};

// Slots that leave an interval by noise are worth nothing.
std::string noise_text(const Json& run) {
  const Json& error = run.at("error", "a reading");
  return !error.is_null() && error.number("error") < 1 ? format("%.2g", error.number("error"))
                                                       : "lost in noise";
}

void run(StudyContext& context, StudyResult& result) {
  const ckks::Context crypto(ckks::secure_n16());
  const ScoredModels models = trained_models(context);
  const ckks::BootstrapPlan bootstrap(crypto);
  const program::KernelSeconds kernels = kernel_seconds(context, crypto);
  const program::CostModel costs(crypto.chain(), kernels, program::figures_of(bootstrap, kernels));
  Table one({"method", "perplexity", "levels", "key switches", "products", "bootstraps", "seconds, metered",
             "of them the weights", "seconds, measured", "noise of the sums", "worst weight error",
             "mean KL"});
  Table all({"method", "128 tokens: weights", "with values", "1,024 tokens: weights", "with values"});
  std::map<std::string, Costs> found;
  const std::vector<SoftmaxMethod> methods = softmax_methods(models, kTokens);
  for (size_t i = 0; i < methods.size(); ++i) {
    const SoftmaxMethod& method = methods[i];
    const WeightErrors errors = weight_errors(method);
    std::vector<Json> readings;
    for (const int blocks : kKeyBlocks)
      readings.push_back(context.once(message(method.name, ", metered, ", blocks), [&] {
        return metered(blocks == 1 ? method : softmax_methods(models, blocks * kTokens)[i], blocks, crypto,
                       costs);
      }));
    const Json run =
        context.once(message(method.name, ", measured"), [&] { return measured(method, crypto, costs); });
    const auto count = [&](const char* member) { return format("%.0f", number(readings[0], member)); };
    one.row({method.name, method.perplexity, count("levels"), count("key_switches"), count("products"),
             count("bootstraps"), format("%.1f", number(readings[0], "seconds")),
             format("%.1f", number(readings[0], "seconds_of_weights")),
             format("%.1f", number(run, "seconds")), noise_text(run), format("%.2g", errors.worst),
             format("%.2g", errors.kl)});
    const Costs own{kPythiaLayers * number(readings[0], "seconds_of_weights"),
                    kPythiaLayers * long_context(readings, "seconds_of_weights")};
    found[method.name] = own;
    all.row({method.name, format("%.0f", own.short_seconds),
             format("%.0f", kPythiaLayers * number(readings[0], "seconds")), format("%.0f", own.long_seconds),
             format("%.0f", kPythiaLayers * long_context(readings, "seconds"))});
  }
  result.table(message("one layer of Pythia 70M at ", kTokens, " tokens; in the fewest levels for errors of ",
                       "2^-8, unless 21 iterations are those of the paper"),
               one);
  result.table("the six layers, metered seconds", all);

  Table paper({"model", "tokens", "the paper: Taylor / PowerSoftmax", "squaring / PowerSoftmax",
               "here, its constants: Taylor / p = 4", "here, fewest levels: exp / p = 4",
               "squaring / p = 4"});
  for (const PaperSeconds& row : kPaper) {
    const auto ratio = [&](const char* name, const char* power) {
      const Costs &of = found.at(name), &to = found.at(power);
      return format("%.1f", row.tokens == kTokens ? of.short_seconds / to.short_seconds
                                                  : of.long_seconds / to.long_seconds);
    };
    constexpr const char* kOurs = "PowerSoftmax, p = 4";
    paper.row({row.model, std::to_string(row.tokens), format("%.1f", row.taylor / row.power),
               format("%.1f", row.squares / row.power),
               ratio("Taylor of degree 8, 21 iterations", "PowerSoftmax, p = 4, 21 iterations"),
               ratio("exp, Goldschmidt; scores scaled down", kOurs), ratio("normalise and square", kOurs)});
  }
  result.table("ratios of the seconds of the weights; the paper's on an A100, ours metered on this processor",
               paper);
  result.note(
      "The rules are the same for all: scores and values come in and their sums go out at one level, "
      "bootstraps "
      "are counted for all and hold two real vectors, causal blocks of keys have the same ciphertexts, and "
      "what "
      "can be divided after the product with the values is (normalise and square cannot). Intervals are "
      "those of "
      "models trained alike on the novels, PowerSoftmax's after range minimisation, and each form is "
      "compared "
      "with the weights of its own model. Ratios of other models than Pythia 70M differ in the paper by "
      "their "
      "number of ciphertexts; here they are Pythia 70M's.");
  result.note(message("Largest |score| of the softmax model: ", format("%.1f", models.softmax.scores.bound),
                      ", of scaled ReLU's: ", format("%.1f", models.relu.scores.bound),
                      ". Forms of exp without a maximum are given softmax's scaled down to ",
                      format("%.0f", kTakenScores), ". ", crypto.describe()));
}

}  // namespace

Experiment softmax_costs_experiment() {
  return {.name = "softmax-costs",
          .title = "Forms of attention weights on ciphertexts: levels, seconds and errors",
          .scaled_down = "On two cores instead of an A100; one layer at 128 tokens is run, the rest metered.",
          .budget = "ten minutes of two idle cores beside the training; 8 GB of memory",
          .run = run};
}

}  // namespace psm::cmd
